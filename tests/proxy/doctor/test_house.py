"""The house's own checks, each with the fault it is to find."""

import re
import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from spanlore.settings import Paths, Settings
from spanlore.settings.settings import CollectorSettings, ProxySettings, WebSettings
from spanlore_proxy.doctor import house
from spanlore_proxy.doctor.finding import Severity, mended, worst
from spanlore_proxy.doctor.scene import Scene
from spanlore_proxy.launch.ca import ensure_ca, ensure_trust

type Make = Callable[..., Scene]


def test_a_running_daemon_is_well(running: Scene) -> None:
    """Permissions, processes, ports, CA, clock and disk of an installation as `up` makes it."""
    checks = (house.permissions, house.daemon, house.ports, house.ca, house.clock, house.disk)
    found = {finding.check: finding for check in checks for finding in check(running)}

    assert set(found) == {"permissions", "daemon", "ports", "ca", "clock", "disk"}
    assert {name: finding.says for name, finding in found.items() if finding.severity > Severity.OK} == {}


def test_loose_permissions_are_tightened(scene: Make) -> None:
    """A token that others may read is an error, and mended."""
    here = scene()
    here.paths.token()
    here.paths.token_file.chmod(0o644)
    (finding,) = house.permissions(here)

    assert (finding.severity, str(here.paths.token_file) in finding.says) == (Severity.ERROR, True)
    assert mended([finding])
    assert here.paths.token_file.stat().st_mode & 0o777 == 0o600
    assert worst(house.permissions(here)) is Severity.OK


def test_no_daemon(scene: Make) -> None:
    """An error that says how to start it; one that is starting is none."""
    (down,) = house.daemon(scene())
    (starting,) = house.daemon(scene(is_starting=True))

    assert (down.severity, down.do) == (Severity.ERROR, "spanlore up --detach")
    assert starting.severity is Severity.NOTE


def test_another_version_and_other_settings(running: Scene) -> None:
    """Told, with what to do."""
    assert running.daemon is not None
    older = replace(running, daemon=replace(running.daemon, version="0.0.1"))
    other = replace(running, settings=Settings(clickhouse_url="http://127.0.0.1:1/x"))

    assert "the running daemon is 0.0.1" in next(iter(house.daemon(older))).says
    assert "other settings" in next(iter(house.daemon(other))).says


def test_a_dead_process(running: Scene) -> None:
    """Named, with its log."""
    assert running.daemon is not None
    children = (replace(running.daemon.processes[0], name="collector", pid=0), *running.daemon.processes[1:])
    (finding,) = house.daemon(replace(running, daemon=replace(running.daemon, processes=children)))

    assert (finding.severity, finding.says) == (Severity.ERROR, "not running: collector")


def test_a_taken_port_names_its_holder_and_setting(scene: Make) -> None:
    """Without a daemon, what would keep one from starting."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        elsewhere = CollectorSettings(port=0, clickhouse_port=0)
        settings = Settings(proxy=ProxySettings(port=port), collector=elsewhere, web=WebSettings(port=0))
        (finding,) = house.ports(scene(settings=settings))

    assert f"port {port} (proxy.port) is taken" in finding.says
    assert "SPANLORE_PROXY_PORT" in finding.do


def test_a_port_that_is_silent(running: Scene) -> None:
    """With a daemon, a port on which nobody listens."""
    assert running.daemon is not None
    (finding,) = house.ports(replace(running, daemon=replace(running.daemon, clickhouse_port=1)))

    assert (finding.severity, "clickhouse (1)" in finding.says) == (Severity.ERROR, True)


def test_the_ca_is_made_when_there_is_none(scene: Make) -> None:
    """A note, mended by making it."""
    here = scene()
    (finding,) = house.ca(here)

    assert finding.severity is Severity.NOTE
    assert mended([finding])
    (now,) = house.ca(replace(here, now_ns=int(datetime.now(UTC).timestamp() * 1e9)))
    assert now.severity is Severity.OK


def test_a_ca_that_ends_or_does_not_fit(scene: Make) -> None:
    """Soon over, over, a bundle without it, a certificate that is no certificate."""
    here = replace(scene(), now_ns=int(datetime.now(UTC).timestamp() * 1e9))
    ensure_trust(here.paths, {})
    valid = replace(here, now_ns=here.now_ns + int(timedelta(days=3640).total_seconds() * 1e9))
    over = replace(here, now_ns=here.now_ns + int(timedelta(days=4000).total_seconds() * 1e9))
    assert worst(house.ca(valid)) is Severity.WARNING
    assert worst(house.ca(over)) is Severity.ERROR
    here.paths.ca_bundle.write_bytes(b"")
    (finding,) = house.ca(here)
    assert (finding.severity, bool(mended([finding]))) == (Severity.ERROR, True)
    assert worst(house.ca(here)) is Severity.OK
    ensure_ca(here.paths).write_bytes(b"nothing")
    assert worst(house.ca(here)) is Severity.ERROR


def test_a_ca_that_the_running_proxy_does_not_have(running: Scene, tmp_path: Path) -> None:
    """Made anew beside a running daemon, or gone: what agents trust then is not what the proxy shows them. A new
    daemon mends it."""
    elsewhere = Paths(tmp_path / "config", tmp_path / "state")
    (gone,) = house.ca(replace(running, paths=elsewhere))
    ensure_ca(elsewhere)
    (other,) = house.ca(replace(running, paths=elsewhere))

    assert {finding.severity for finding in (gone, other)} == {Severity.ERROR}
    assert other.mend is not None
    assert "another CA" in other.says


def test_a_clock_that_is_off(running: Scene) -> None:
    """An hour between this machine and the store is a warning."""
    (finding,) = house.clock(replace(running, now_ns=running.now_ns + 3600 * 10**9))

    # An hour, and what a busy machine took to ask.
    assert finding.severity is Severity.WARNING
    assert re.search(r"\b3[56]\d\d s off", finding.says)
