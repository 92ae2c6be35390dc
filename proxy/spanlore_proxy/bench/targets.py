"""Starts what is compared: the upstream, bare mitmdump, and spanlore with everything on."""

from __future__ import annotations

import contextlib
import datetime
import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from spanlore.memory.memory import Kind, Memory, Source, Status, memory_id, memory_to_json
from spanlore.settings import Paths, child_environment
from spanlore_proxy.bench.certificate import write_certificate
from spanlore_proxy.bench.load import Target

SCOPE = "bench.example/owner/repository"
START_TIMEOUT_S = 60.0
MEMORIES = 200
POSTED_AT_ONCE = 500
SETTLE_S = 60.0
"""Without any progress."""
LOOK_S = 1.2
"""The file is at most a second old, so two equal readings further apart than that are the truth."""
COUNTED = ("requests", "injected", "captured", "shipped", "lost", "passthrough")


@dataclass(frozen=True, slots=True)
class Stage:
    """What is compared, and where spanlore's own counters lie."""

    targets: list[Target]
    paths: Paths
    bare_pid: int

    @property
    def pids(self) -> dict[str, int]:
        """Of bare mitmdump, and of spanlore's processes by name."""
        daemon = json.loads(self.paths.daemon_file.read_text())
        ours = {child["name"]: child["pid"] for child in daemon["processes"]}
        return {"bare mitmdump": self.bare_pid, "supervisor": daemon["pid"], **ours}

    def settled(self) -> dict[str, int]:
        """The proxy's counters by name, once they stand still and nothing is under way any more: the spool is delivered
        however long that takes. After `SETTLE_S` in which nothing moved, as they are then."""
        return drained(self.paths.proxy_status_file)

    def resident_bytes(self) -> dict[str, int]:
        """Of proxy and collector."""
        pids = self.pids
        return {name: psutil.Process(pids[name]).memory_info().rss for name in ("proxy", "collector")}


def drained(status_file: Path, look_s: float = LOOK_S, patience_s: float = SETTLE_S) -> dict[str, int]:
    """The counters in the proxy's status file, see `Stage.settled`."""
    moved = time.monotonic()
    before: dict[str, int] = {}
    while True:
        status = json.loads(status_file.read_text())
        counts = {name: sum(status["counters"].get(name, {}).values()) for name in COUNTED}
        under_way = status["running"] + status["queue_bytes"] + status["spool"]["records"]
        if counts == before and (not under_way or time.monotonic() - moved > patience_s):
            return counts
        if counts != before:
            moved = time.monotonic()
        before = counts
        time.sleep(look_s)


@contextlib.contextmanager
def stage(folder: Path, memories: int = MEMORIES) -> Iterator[Stage]:
    """The three targets, started, spanlore with so many memories; everything is stopped afterwards."""
    cert = folder / "upstream.pem"
    write_certificate(cert, datetime.datetime.now(datetime.UTC))
    port = free_port()
    url = f"https://localhost:{port}/v1/messages?beta=true"
    with contextlib.ExitStack() as stack:
        upstream = [sys.executable, "-m", "spanlore_proxy.bench.upstream", "--port", str(port), "--cert", str(cert)]
        stack.enter_context(_process(upstream, port, folder / "upstream.log"))
        bare, bare_pid = stack.enter_context(_mitmdump(folder, cert, url))
        ours = stack.enter_context(_spanlore(folder, cert, url, memories))
        paths = Paths.from_environ(_environment(folder))
        yield Stage([Target("direct", url, None, str(cert)), bare, ours], paths, bare_pid)


@contextlib.contextmanager
def daemon(folder: Path, settings: Mapping[str, str] | None = None) -> Iterator[tuple[Paths, dict[str, str]]]:
    """A daemon with its state below `folder`, and the environment of a command that is to find it. `settings` is more
    environment."""
    environment = child_environment({**_environment(folder), **(settings or {})})
    paths = Paths.from_environ(environment)
    paths.ensure()
    with (folder / "spanlore.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "spanlore", "up"], env=environment, stdout=log, stderr=log)
        try:
            _wait(paths.daemon_file.exists, process, folder / "spanlore.log")
            yield paths, environment
        finally:
            _stop(process)


def free_port() -> int:
    """A port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def _mitmdump(folder: Path, cert: Path, url: str) -> Iterator[tuple[Target, int]]:
    port = free_port()
    command = [
        str(Path(sys.executable).with_name("mitmdump")), "-q", "--listen-host", "127.0.0.1", "--listen-port", str(port),
        "--set", f"confdir={folder / 'mitmproxy'}", "--set", f"ssl_verify_upstream_trusted_ca={cert}",
        "-s", str(Path(__file__).with_name("stream_addon.py")),
    ]  # fmt: skip
    with _process(command, port, folder / "mitmdump.log") as pid:
        ca = folder / "mitmproxy" / "mitmproxy-ca-cert.pem"
        yield Target("bare mitmdump", url, f"http://127.0.0.1:{port}", str(ca)), pid


@contextlib.contextmanager
def _spanlore(folder: Path, cert: Path, url: str, memories: int) -> Iterator[Target]:
    environment = {
        **_environment(folder),
        "SPANLORE_PROXY_UPSTREAM_CA": str(cert),
    }
    paths = Paths.from_environ(environment)
    paths.ensure()
    # The proxy reads its snapshot from disk at start, so every request of the benchmark carries a session block.
    _give_memories(paths, memories)
    credentials = _give_run(paths)
    command = [sys.executable, "-m", "spanlore", "up"]
    with (folder / "spanlore.log").open("wb") as log:
        process = subprocess.Popen(command, env=child_environment(environment), stdout=log, stderr=log)
        try:
            _wait(paths.daemon_file.exists, process, folder / "spanlore.log")
            port = json.loads(paths.daemon_file.read_text())["proxy_port"]
            _post_memories(paths, memories)
            yield Target("spanlore", url, f"http://{credentials}@127.0.0.1:{port}", str(paths.ca_cert))
        finally:
            _stop(process)


def _environment(folder: Path) -> dict[str, str]:
    return {
        "SPANLORE_STATE_DIR": str(folder / "state"),
        "SPANLORE_CONFIG_DIR": str(folder / "config"),
        "SPANLORE_PROXY_PORT": "0",
        "SPANLORE_COLLECTOR_PORT": "0",
        "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": "0",
        "SPANLORE_WEB_PORT": "0",
        "SPANLORE_PROXY_HOSTS": "localhost",
        "SPANLORE_INJECTION_WITHHOLD_SHARE": "0",
    }


def _give_run(paths: Paths) -> str:
    run = {
        "run_id": "run-be0c4be0c4be",
        "token": "bench",
        "created_at_ns": time.time_ns(),
        "pid": 0,
        "harness": "claude-code",
        "harness_version": "",
        "cwd": "/",
        "repository": SCOPE,
        "sub_path": "",
        "branch": "main",
    }
    (paths.runs_dir / f"{run['run_id']}.json").write_text(json.dumps(run))
    return f"{run['run_id']}:{run['token']}"


def _memories(count: int) -> list[Memory]:
    return [
        Memory(
            id=memory_id(SCOPE, Kind.USAGE, f"program{n}", "invocation", f"form {n}"),
            kind=Kind.USAGE,
            source=Source.FAILURE_DELTA,
            status=Status.ACTIVE,
            scope=SCOPE,
            subject=f"program{n}",
            slot="invocation",
            value=f"form {n}",
            text=f"`program{n}` works here as `make step-{n}`; `program{n} --all` failed with a missing module.",
            session_count=2,
            alpha=3,
            created_at_ns=time.time_ns(),
            updated_at_ns=time.time_ns(),
        )
        for n in range(count)
    ]


def _give_memories(paths: Paths, count: int) -> None:
    paths.snapshot_file.write_text(json.dumps({"memories": [memory_to_json(memory) for memory in _memories(count)]}))


def _post_memories(paths: Paths, count: int) -> None:
    port = json.loads(paths.daemon_file.read_text())["collector_port"]
    known = _memories(count)
    for low in range(0, count, POSTED_AT_ONCE):
        some = known[low : low + POSTED_AT_ONCE]
        operations = [{"verb": "added", "memory": memory_to_json(memory), "actor": "user"} for memory in some]
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/memories/operations",
            data=json.dumps({"operations": operations}).encode(),
            headers={"authorization": f"Bearer {paths.token()}", "content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            response.read()
    time.sleep(2.5 + count / 5_000)  # the proxy's snapshot is at most a second old, and then has to be read


@contextlib.contextmanager
def _process(command: list[str], port: int, log_file: Path) -> Iterator[int]:
    with log_file.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _wait(lambda: _listens(port), process, log_file)
            yield process.pid
        finally:
            _stop(process)


def _wait(ready: Callable[[], bool], process: subprocess.Popen[bytes], log_file: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} did not start: {log_file.read_text()[-2000:]}")
        time.sleep(0.05)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
