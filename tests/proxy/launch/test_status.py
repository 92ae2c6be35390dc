"""What `spanlore status` knows."""

import json
import os
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from spanlore.settings import Paths
from spanlore_proxy.launch.ca import ensure_ca, fingerprint
from spanlore_proxy.launch.daemon import ChildState, Daemon
from spanlore_proxy.launch.runs import new_run, write_run
from spanlore_proxy.launch.status import collector_status, completeness, has_other_ca, status

PROXY = {
    "counters": {"captured": {"total": 5}, "shipped": {"total": 3}, "lost": {"queue_full": 1, "disk_full": 0}},
    "spool": {"records": 2},
}


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    return paths


@pytest.fixture
def collector_port(paths: Paths) -> Iterator[int]:
    """A collector that tells its status to whoever has the token."""
    token = paths.token()

    class Handler(BaseHTTPRequestHandler):
        """`GET /v1/status`."""

        def do_GET(self) -> None:
            known = self.headers["Authorization"] == f"Bearer {token}" and self.path == "/v1/status"
            body = json.dumps({"store": {"kind": "chdb"}}).encode()
            self.send_response(200 if known else 401)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def daemon(collector_port: int, *pids: int) -> Daemon:
    names = ("collector", "proxy", "extractor")
    processes = tuple(ChildState(name, pid, 1, 0) for name, pid in zip(names, pids, strict=False))
    return Daemon(os.getpid(), "0.1.0", time.time_ns(), 7717, collector_port, 7719, "", processes)


def test_everything_in_one_object(paths: Paths, collector_port: int, tmp_path: Path) -> None:
    """Processes, ports, running agents, the proxy's counters and the collector's word, all of it JSON."""
    paths.proxy_status_file.write_text(json.dumps(PROXY))
    run = new_run("claude-code", tmp_path, os.getpid(), time.time_ns())
    write_run(paths, run)

    found = status(daemon(collector_port, os.getpid(), os.getpid(), os.getpid()), paths)

    assert found["healthy"]
    assert [process["name"] for process in found["processes"]] == ["supervisor", "collector", "proxy", "extractor"]
    assert found["runs"] == [{"run_id": run.run_id, "pid": os.getpid(), "harness": "claude-code", "cwd": str(tmp_path)}]
    assert found["collector_says"] == {"store": {"kind": "chdb"}}
    assert found["completeness"]["captured"] == 5
    assert json.loads(json.dumps(found)) == found


def test_dead_process_is_told(paths: Paths, collector_port: int) -> None:
    """A process that is down makes the whole unhealthy."""
    found = status(daemon(collector_port, os.getpid(), 0, os.getpid()), paths)

    assert not found["healthy"]
    assert [process["name"] for process in found["processes"] if not process["alive"]] == ["proxy"]


def test_silent_proxy_is_told(paths: Paths, collector_port: int) -> None:
    """Counters that the proxy could not write for a while are not given out as those of now."""
    old_ns, new_ns = time.time_ns() - 60 * 10**9, time.time_ns()
    paths.proxy_status_file.write_text(json.dumps({**PROXY, "written_at_ns": old_ns}))
    old = status(daemon(collector_port, os.getpid()), paths)
    paths.proxy_status_file.write_text(json.dumps({**PROXY, "written_at_ns": new_ns}))
    new = status(daemon(collector_port, os.getpid()), paths)

    assert not old["healthy"]
    # A minute, and whatever a busy machine took since.
    assert re.search(r"has not reported for \d{2,3} s ", old["troubles"][0])
    assert (new["healthy"], new["troubles"]) == (True, [])


def test_disk_that_is_nearly_full_is_told(paths: Paths, collector_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is lost, not after."""
    monkeypatch.setattr("spanlore_proxy.launch.status.MIN_FREE_MB", 10**12)
    found = status(daemon(collector_port, os.getpid()), paths)

    assert not found["healthy"]
    assert "MB are free" in found["troubles"][0]


def test_silent_collector_is_told(paths: Paths) -> None:
    """A collector that doesn't answer is an error in the object, not an exception."""
    found = status(daemon(1, os.getpid()), paths)

    assert not found["healthy"]
    assert "does not answer" in found["collector_says"]["error"]


def test_collector_is_asked_without_any_proxy(
    paths: Paths, collector_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTTP_PROXY in our environment, which may be this very proxy, has no say on loopback."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)

    assert collector_status(daemon(collector_port), paths) == {"store": {"kind": "chdb"}}


def test_completeness() -> None:
    """What waits and what was lost, with the reasons; only nothing of both is complete."""
    assert completeness(PROXY) == {
        "captured": 5,
        "shipped": 3,
        "waiting": 2,
        "lost": {"queue_full": 1},
        "complete": False,
    }
    assert completeness({})["complete"]


def test_another_ca_than_the_proxys(paths: Paths) -> None:
    """Only what the proxy that runs now says of itself counts: a file of the one before says nothing."""
    child = ChildState("proxy", 7, 0, 0)
    daemon = Daemon(1, "0", 0, 1, 2, 3, processes=(child,))
    assert has_other_ca(daemon, {"pid": 7, "ca": "ab"}, paths)
    ensure_ca(paths)

    assert not has_other_ca(daemon, {"pid": 7, "ca": fingerprint(paths)}, paths)
    assert has_other_ca(daemon, {"pid": 7, "ca": "ab"}, paths)
    assert not has_other_ca(daemon, {"pid": 6, "ca": "ab"}, paths)
    assert not has_other_ca(daemon, {"pid": 7}, paths)
