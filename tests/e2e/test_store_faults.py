"""The store's directory full, read-only or taken; the collector away for long; a torn spool; clocks that jump.

After each: what was acknowledged is there once, agents' requests went through, and the counters say the same.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spanlore.otlp.codec import encode_request
from spanlore.settings import child_environment
from spanlore_collector.bench.sample import sample_spans
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from support.clock import MovableClock
from support.collector_process import CollectorProcess
from support.model_server import ModelServer, Reply, Say
from support.proxied import ProxiedClient, counted

pytestmark = pytest.mark.slow

AWAY_S = float(child_environment({}).get("SPANLORE_TEST_AWAY_S", "3"))
"""How long the collector is away; `make test-faults` makes it minutes."""


@contextmanager
def small_disk(folder: Path, size_mb: int) -> Iterator[Path]:
    """A file system of its own, in memory; skips where it can't be mounted."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no small disk: {error}")
    if done.returncode != 0:
        pytest.skip(f"no small disk: mounting needs root: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def each_once(collector: CollectorProcess, spans: int) -> None:
    """Every span stands once."""
    assert collector.rows("SELECT count(), uniqExact(TraceId, SpanId) FROM otel_traces") == [[spans, spans]]
    for table, key in (("inferences", "span_id"), ("tool_calls", "span_id"), ("content", "hash")):
        assert collector.rows(f"SELECT count() = uniqExact({key}) FROM {table}") == [1], table


def _write_without_end(file: Path) -> None:
    with file.open("wb") as out:
        while True:
            out.write(bytes(1024**2))
            out.flush()


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """Batches are refused with 503 while there is no room, and stored once when there is."""
    spans = sample_spans(600, seed=91)
    bodies = [encode_request(spans[start : start + 60]) for start in range(0, len(spans), 60)]
    with small_disk(tmp_path / "disk", 64) as disk:
        with CollectorProcess(disk / "state") as collector:
            assert collector.post_body(bodies[0]).status == 200
            ballast = disk / "ballast"
            with pytest.raises(OSError, match="No space"):
                _write_without_end(ballast)
            answers = {collector.post_body(body).status for body in bodies[1:4]}
            health = collector.request("GET", "/healthz").status
            ballast.unlink()
            again = {collector.post_body(body).status for body in bodies}

            assert answers == {503}
            assert health == 200
            assert again == {200}
            each_once(collector, len(spans))
        # And what was stored is whole for the next process.
        with CollectorProcess(disk / "state") as collector:
            each_once(collector, len(spans))


def test_a_full_disk_leaves_an_old_store_as_it_is(tmp_path: Path) -> None:
    """A new version begins nothing that it has no room for, says so, and finds all of it once there is room."""
    with small_disk(tmp_path / "disk", 64) as disk:
        make = [sys.executable, "-m", "support.older_store", str(disk / "state" / "store"), "60", "90", "92"]
        (disk / "state").mkdir()
        subprocess.run(make, env=child_environment({"PYTHONPATH": str(Path(__file__).parents[1])}), check=True)
        ballast = disk / "ballast"
        with pytest.raises(OSError, match="No space"):
            _write_without_end(ballast)
        with ballast.open("r+b") as file:
            # Enough to start with, and not for tables.
            file.truncate(ballast.stat().st_size - 8 * 1024**2)
        refused = CollectorProcess(disk / "state")
        refused.launch()

        assert refused.wait(300) == 1
        assert "MB are free" in "".join(refused.log)
        ballast.unlink()
        with CollectorProcess(disk / "state") as collector:
            assert collector.rows("SELECT count() FROM otel_traces") == [60]


_CHANGE = """
import sys
from pathlib import Path
from spanlore_collector.store.client import Store
from spanlore_collector.store.descriptions import kept
from spanlore_collector.store.migrate import migrate
store = Store("chdb://" + sys.argv[1])
with store.connect(database="default") as client, kept(store.path):
    migrate(client, store.database)
"""


def test_a_disk_that_fills_during_an_upgrade_costs_nothing(tmp_path: Path) -> None:
    """The engine empties descriptions of tables then; the next start with some room has all rows and the new tables."""
    with small_disk(tmp_path / "disk", 64) as disk:
        store, ballast = disk / "state" / "store", disk / "ballast"
        (disk / "state").mkdir()
        tests = child_environment({"PYTHONPATH": str(Path(__file__).parents[1])})
        make = [sys.executable, "-m", "support.older_store", str(store), "60", "90", "92"]
        for room_kb in (40, 48, 56, 64, 32):
            subprocess.run(make, env=tests, check=True)
            with pytest.raises(OSError, match="No space"):
                _write_without_end(ballast)
            with ballast.open("r+b") as file:
                file.truncate(ballast.stat().st_size - room_kb * 1024)
            changed = subprocess.run(
                [sys.executable, "-c", _CHANGE, str(store)], env=tests, capture_output=True, check=False
            )
            assert changed.returncode != 0
            ballast.unlink()
            if emptied := [file for file in store.rglob("*.sql") if not file.stat().st_size]:
                break
            shutil.rmtree(store)
        assert emptied, "the engine no longer does that: the copy can go"
        with CollectorProcess(disk / "state") as collector:
            assert collector.rows("SELECT count() FROM otel_traces") == [60]
            assert collector.rows("SELECT count() > 0 FROM content") == [1]
        assert any("put back" in line for line in collector.log)


def test_a_read_only_store_is_told(tmp_path: Path) -> None:
    """The collector does not start, says why, and harms nothing; writable again it is all there."""
    spans = sample_spans(60, seed=92)
    with small_disk(tmp_path / "disk", 64) as disk:
        with CollectorProcess(disk / "state") as collector:
            assert collector.post_spans(spans).status == 200
        refused = CollectorProcess(disk / "state")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused.launch()

        assert refused.wait() == 1
        assert "Read-only file system" in refused.log[-1] and "SPANLORE_STATE_DIR" in refused.log[-1]
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with CollectorProcess(disk / "state") as collector:
            each_once(collector, len(spans))


class Work:
    """A daemon with clients that ask, and what became of it."""

    def __init__(self, stage: Stage, clock: MovableClock) -> None:
        self.stage = stage
        self.clock = clock
        self.answered: set[str] = set()
        self.client = ProxiedClient(stage.paths)
        self.said = ["go"]

    def ask(self) -> None:
        """One request that must succeed."""
        response = self.client.infer(*self.said, stream=True)
        assert response.status == 200 and b"message_stop" in response.body
        self.answered.add(response.headers["request-id"])
        self.said += ["ok", f"on {len(self.said)}"]

    def pid(self, name: str) -> int:
        """Of a process of the daemon."""
        processes = json.loads(self.stage.paths.daemon_file.read_bytes())["processes"]
        return next(int(child["pid"]) for child in processes if child["name"] == name)

    def is_all_stored(self) -> bool:
        """Whether every answer is in the store."""
        rows = StoreView(self.stage.paths).rows("SELECT DISTINCT provider_request_id AS id FROM inferences")
        return self.answered <= {row["id"] for row in rows}

    def check(self) -> None:
        """All is stored, once, and nobody counted a loss."""
        assert wait_until(self.is_all_stored), "answers are missing in the store"
        store = StoreView(self.stage.paths)
        for table, key in (("otel_traces", "(TraceId, SpanId)"), ("inferences", "span_id"), ("content", "hash")):
            assert int(store.rows(f"SELECT count() - uniqExact({key}) AS n FROM {table}")[0]["n"]) == 0, table
        assert counted(self.stage.paths, "lost") == 0


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """A daemon in front of a server that always answers; its processes' wall clocks can be moved."""
    clock = MovableClock(tmp_path_factory.mktemp("clock"))
    with (
        ModelServer(lambda request: Reply((Say("ok"),))) as server,
        Stage(server.url, settings=clock.environment) as stage,
    ):
        stage.up()
        yield Work(stage, clock)


def test_a_collector_that_is_away_for_long(work: Work) -> None:
    """Requests go through at once all the while; everything is delivered when it is back."""
    with away(work.pid("collector")):
        end = time.monotonic() + AWAY_S
        while time.monotonic() < end:
            work.ask()

    work.check()


def test_a_torn_spool_and_a_killed_proxy(work: Work) -> None:
    """The proxy dies in the middle of a write while the collector is away: the whole records are delivered, once."""
    with away(work.pid("collector")):
        before = counted(work.stage.paths, "captured")
        for _ in range(6):
            work.ask()
        assert wait_until(lambda: counted(work.stage.paths, "captured") >= before + 6)
        proxy = work.pid("proxy")
        os.kill(proxy, signal.SIGSTOP)
        segments = sorted(work.stage.paths.spool_dir.glob("*.seg"))
        with segments[-1].open("ab") as file:
            file.write(segments[-1].read_bytes()[:33])
        os.kill(proxy, signal.SIGKILL)
        assert wait_until(lambda: work.pid("proxy") not in (0, proxy))
    work.ask()

    work.check()


def test_clocks_that_jump(work: Work) -> None:
    """An hour back, two days forth and back again: everything is stored once, and no span ends before it began."""
    for seconds in (0, -3600, 2 * 86_400, 0):
        work.clock.move(seconds)
        for _ in range(3):
            work.ask()

    work.check()
    store = StoreView(work.stage.paths)
    wrong = "SELECT countIf(end_time < start_time) AS n FROM inferences"
    assert int(store.rows(wrong)[0]["n"]) == 0
    days = "SELECT uniqExact(toDate(Timestamp)) AS n FROM otel_traces"
    assert int(store.rows(days)[0]["n"]) >= 2


@contextmanager
def away(pid: int) -> Iterator[None]:
    """The process answers nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
