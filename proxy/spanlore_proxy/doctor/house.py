"""Checks of the house itself: files and their permissions, the daemon, its ports, the CA, the disk, the clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import psutil
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

import spanlore
from spanlore import figures, opening
from spanlore.settings import Settings
from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene, StoreSilentError
from spanlore_proxy.launch.ca import BASENAME, certificates, ensure_ca, ensure_trust
from spanlore_proxy.launch.daemon import Daemon, settings_digest
from spanlore_proxy.launch.ports import answers, holder_of
from spanlore_proxy.launch.runs import live_runs
from spanlore_proxy.launch.start import DaemonStartError, ensure_daemon, stop_daemon
from spanlore_proxy.launch.status import has_other_ca

EXPIRES_SOON: Final = timedelta(days=30)
MIN_FREE_MB: Final = 1_000
FULL_MB: Final = 100
MANY_RESTARTS: Final = 3
SKEW_S: Final = 5.0


def permissions(scene: Scene) -> Iterator[Finding]:
    """What is secret is the user's alone: directories 0700, files 0600."""
    paths = scene.paths
    wanted = {paths.state_dir: 0o700, paths.ca_dir: 0o700, paths.token_file: 0o600, paths.config_file: 0o600}
    wanted[paths.ca_dir / f"{BASENAME}-ca.pem"] = 0o600
    loose = [path for path, mode in wanted.items() if path.exists() and path.stat().st_mode & 0o777 & ~mode]

    def tighten() -> str:
        for path in loose:
            path.chmod(wanted[path])
        return f"only you may read {', '.join(map(str, loose))} now"

    if loose:
        names = ", ".join(map(str, loose))
        says = f"others may read what is secret: {names}"
        yield Finding("permissions", Severity.ERROR, says, f"chmod go-rwx {' '.join(map(str, loose))}", tighten)
    else:
        yield Finding("permissions", Severity.OK, f"{paths.state_dir} and its secrets are yours alone")


def daemon(scene: Scene) -> Iterator[Finding]:
    """It runs, all its processes live, and it is this version with these settings."""
    running = scene.daemon
    if running is None:
        if scene.is_starting:
            doing = opening.read(scene.paths.opening_file)
            says = f"the daemon is starting: the collector is {doing}" if doing else "the daemon is starting"
            yield Finding("daemon", Severity.NOTE, says, "ask again in some seconds")
            return

        def start() -> str:
            try:
                return f"started, pid {ensure_daemon(scene.paths).pid}"
            except DaemonStartError as error:
                raise RuntimeError(str(error)) from None

        says = "the daemon is not running: nothing is captured and no memory is given"
        yield Finding("daemon", Severity.ERROR, says, "spanlore up --detach", start)
        return
    dead = [child.name for child in running.processes if not _lives(child.pid)]
    if dead:
        says = f"not running: {', '.join(dead)}"
        yield Finding("daemon", Severity.ERROR, says, f"look into {scene.paths.log_dir}/{dead[0]}.log")
    tired = [f"{child.name} {child.restarts} ×" for child in running.processes if child.restarts > MANY_RESTARTS]
    if tired:
        says = f"processes ended by themselves and were started again: {', '.join(tired)}"
        yield Finding("daemon", Severity.WARNING, says, f"their logs are in {scene.paths.log_dir}")
    stale = _stale(scene)
    if stale:
        yield stale
    if not dead and not tired and not stale:
        yield Finding("daemon", Severity.OK, f"version {running.version}, pid {running.pid}, all processes live")


def _stale(scene: Scene) -> Finding | None:
    running = scene.daemon
    assert running is not None
    if running.version != spanlore.__version__:
        says = f"the running daemon is {running.version}, installed is {spanlore.__version__}"
    elif running.settings_digest not in ("", settings_digest(scene.settings)):
        says = "the running daemon was started with other settings than are in force here"
    else:
        return None
    return _restarting(scene, running, "daemon", Severity.WARNING, says)


def _restarting(scene: Scene, running: Daemon, name: str, severity: Severity, says: str) -> Finding:
    """What a new daemon mends, once no agent is at work."""
    runs = live_runs(scene.paths)
    do = "spanlore down && spanlore up --detach"
    if runs:
        return Finding(name, severity, says, f"end {figures.several(len(runs), 'running agent')} first, then: {do}")

    def restart() -> str:
        if not stop_daemon(running, scene.paths):
            raise RuntimeError(f"pid {running.pid} does not end")
        try:
            return f"restarted, pid {ensure_daemon(scene.paths).pid}"
        except DaemonStartError as error:
            raise RuntimeError(str(error)) from None

    return Finding(name, severity, says, do, restart)


def ports(scene: Scene) -> Iterator[Finding]:
    """With a daemon each of its ports answers; without one the ports it would take are free."""
    running = scene.daemon
    if running is not None:
        listening = {"proxy": running.proxy_port, "collector": running.collector_port}
        if running.clickhouse_port:
            listening["clickhouse"] = running.clickhouse_port
        if running.web_port:
            listening["web page"] = running.web_port
        silent = [f"{name} ({port})" for name, port in listening.items() if not answers(port)]
        if silent:
            says = f"nothing listens on {', '.join(silent)}"
            yield Finding("ports", Severity.ERROR, says, "spanlore down --force && spanlore up --detach")
        else:
            says = ", ".join(f"{name} {port}" for name, port in listening.items())
            yield Finding("ports", Severity.OK, f"listening: {says}")
        return
    if scene.is_starting:
        return
    taken = [(name, port, holder_of(port)) for name, port in _configured(scene.settings) if port and answers(port)]
    for name, port, holder in taken:
        says = f"port {port} ({name}) is taken" + (f" by {holder}" if holder else "")
        variable = f"SPANLORE_{name.replace('.', '_').upper()}"
        yield Finding("ports", Severity.ERROR, says, f"stop that program, or set {variable} to another port, 0 for any")
    if not taken:
        yield Finding("ports", Severity.OK, "the ports that the daemon takes are free")


def ca(scene: Scene) -> Iterator[Finding]:
    """The CA is there, is not over, fits its key, and stands in the bundle beside the system's roots."""
    key_file = scene.paths.ca_dir / f"{BASENAME}-ca.pem"

    def make() -> str:
        ensure_trust(scene.paths, scene.environ)
        return f"made {scene.paths.ca_cert}"

    if scene.daemon is not None and has_other_ca(scene.daemon, scene.proxy, scene.paths):
        says = "the running proxy began with another CA than the one on disk: agents that start now can't verify it"
        yield _restarting(scene, scene.daemon, "ca", Severity.ERROR, says)
        return
    if not (scene.paths.ca_cert.exists() and key_file.exists()):
        yield Finding("ca", Severity.NOTE, "there is no CA yet", "the first `spanlore run` makes it", make)
        return
    try:
        certificate = x509.load_pem_x509_certificate(scene.paths.ca_cert.read_bytes())
        key = load_pem_private_key(key_file.read_bytes(), None)
    except (ValueError, TypeError, OSError) as error:
        says = f"the CA in {scene.paths.ca_dir} can't be read: {error}"
        yield Finding("ca", Severity.ERROR, says, f"move {scene.paths.ca_dir} away; a new CA is made")
        return
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if key.public_key().public_bytes(*form) != certificate.public_key().public_bytes(*form):
        yield Finding("ca", Severity.ERROR, "the CA's key is not its certificate's", f"move {scene.paths.ca_dir} away")
        return
    left = certificate.not_valid_after_utc - datetime.fromtimestamp(scene.now_ns / 1e9, UTC)
    until = f"{certificate.not_valid_after_utc:%Y-%m-%d}"
    if left < EXPIRES_SOON:
        severity = Severity.ERROR if left < timedelta(0) else Severity.WARNING
        do = f"spanlore down; mv {scene.paths.ca_dir} {scene.paths.ca_dir}.old; spanlore up --detach"
        yield Finding("ca", severity, f"the CA is valid until {until}", do)
        return
    yield _bundle(scene, until)


def _bundle(scene: Scene, until: str) -> Finding:
    ours = certificates(scene.paths.ca_cert.read_bytes())
    bundle = scene.paths.ca_bundle
    known = certificates(bundle.read_bytes()) if bundle.exists() else []

    def again() -> str:
        ensure_ca(scene.paths)
        return f"wrote {ensure_trust(scene.paths, {}).bundle}"

    if bundle.exists() and not set(ours) <= set(known):
        return Finding("ca", Severity.ERROR, f"{bundle} does not hold our CA", "spanlore doctor --fix", again)
    if bundle.exists() and len(known) < 2:
        says = f"{bundle} holds no roots but ours: tools an agent starts will trust no other host"
        return Finding("ca", Severity.WARNING, says, "install the system's ca-certificates, then --fix", again)
    if not bundle.exists():
        says = f"valid until {until}; the bundle for tools that agents start is made by the first `spanlore run`"
        return Finding("ca", Severity.OK, says)
    return Finding("ca", Severity.OK, f"valid until {until}, {max(len(known) - 1, 0)} other roots in the bundle")


def disk(scene: Scene) -> Iterator[Finding]:
    """There is room for the state directory, and it is told what takes it."""
    free_mb = psutil.disk_usage(str(_existing(scene.paths.state_dir))).free // 10**6
    used = figures.size(_size(scene.paths.state_dir))
    says = f"{figures.size(free_mb * 10**6)} free, spanlore uses {used} in {scene.paths.state_dir}"
    if free_mb < FULL_MB:
        do = "make room: when the disk is full what is captured is lost (agents go on)"
        yield Finding("disk", Severity.ERROR, says, do)
    elif free_mb < MIN_FREE_MB:
        yield Finding("disk", Severity.WARNING, says, "make room, or move SPANLORE_STATE_DIR to another disk")
    else:
        yield Finding("disk", Severity.OK, says)


def clock(scene: Scene) -> Iterator[Finding]:
    """This machine's clock agrees with the store's, and nothing was recorded in the future."""
    sql = (
        "SELECT toUnixTimestamp64Milli(now64(3, 'UTC')) AS now_ms, "
        "toUnixTimestamp64Milli(toDateTime64(max(end_time), 3)) AS newest_ms FROM inferences"
    )
    try:
        row = scene.rows(sql)[0]
    except (StoreSilentError, IndexError):
        return
    skew_s = int(row["now_ms"]) / 1e3 - scene.now_ns / 1e9
    ahead_s = int(row["newest_ms"]) / 1e3 - scene.now_ns / 1e9
    do = "set the clock (NTP): times of sessions, durations and evidence go by it"
    if abs(skew_s) > SKEW_S + 5:
        yield Finding("clock", Severity.WARNING, f"the store's clock is {skew_s:+.0f} s off this machine's", do)
    elif ahead_s > SKEW_S:
        yield Finding("clock", Severity.WARNING, f"the newest request is {ahead_s:.0f} s in the future", do)
    else:
        yield Finding("clock", Severity.OK, "this machine and the store agree")


def _configured(settings: Settings) -> tuple[tuple[str, int], ...]:
    return (
        ("proxy.port", settings.proxy.port),
        ("collector.port", settings.collector.port),
        ("collector.clickhouse_port", settings.collector.clickhouse_port),
        ("web.port", settings.web.port),
    )


def _lives(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return bool(pid) and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except OSError:
            continue  # merged away meanwhile
    return total
