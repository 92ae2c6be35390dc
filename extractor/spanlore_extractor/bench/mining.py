"""How fast mining is, whether it grows with the store, and what a run without news costs.

A real collector in a directory of its own takes the made-up sessions by OTLP; then the very run that the daemon makes
mines them through the ClickHouse interface and writes its memories back. Of a large store only the first sessions are
sent; the others are copies of their rows that the engine makes (`spanlore_collector.bench.filling`), in a process of
its own while the collector is down.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from spanlore.otlp.codec import encode_request
from spanlore.settings import Paths, child_environment, load_settings
from spanlore.spans.record import SpanRecord
from spanlore_collector.store.api_client import MemoryClient, connect
from spanlore_collector.store.reader import Reader
from spanlore_extractor.bench.sessions import SPANS_PER_SESSION, START_NS, session_spans
from spanlore_extractor.run import Report, Rules, mine

BUDGETS: Final = {"spans_per_s_min": 2000.0, "idle_rerun_s_max": 1.0, "growth_max": 1.5}
"""growth: seconds a span at the largest size, by those at the smallest; 1 is linear."""
_BATCH: Final = 2000
SENT_SPANS: Final = 10_000
"""So many are sent; a larger store has copies of them, each in a day of its own."""
DAY_NS: Final = 86_400 * 10**9
_START_WITHIN_S: Final = 60.0
_DIRECT: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class CollectorStartError(RuntimeError):
    """The collector of the benchmark did not start; the text is the end of its log."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The benchmark's own collector."""

    url: str
    token: str
    reader: Reader
    client: MemoryClient


class FillingError(RuntimeError):
    """The benchmark's store could not be filled; the text is the end of what was said of it."""


def measure(sizes: Sequence[int], sent_spans: int = SENT_SPANS) -> dict[str, Any]:
    """The report for stores of so many spans.

    Raises:
        CollectorStartError: the benchmark's collector did not start.
        FillingError: its store could not be filled.
    """
    rows = [_at(size, sent_spans) for size in sorted(sizes)]
    per_span = [row["mine_s"] / row["spans"] for row in rows]
    growth = round(per_span[-1] / per_span[0], 2)
    within = (
        min(row["spans_per_s"] for row in rows) >= BUDGETS["spans_per_s_min"]
        and max(row["idle_rerun_s"] for row in rows) <= BUDGETS["idle_rerun_s_max"]
        and growth <= BUDGETS["growth_max"]
    )
    return {
        "bench": "mine",
        "rows": [*rows, {"what": "growth", "ratio": growth}],
        "budgets": BUDGETS,
        "within_budget": within,
    }


def table(result: Mapping[str, Any]) -> str:
    """For people."""
    lines = [f"{'spans':>9}{'sessions':>10}{'mining':>10}{'spans/s':>10}{'idle':>9}{'candidates':>12}{'memories':>10}"]
    lines += [
        f"{row['spans']:>9}{row['sessions']:>10}{row['mine_s']:>8.1f} s{row['spans_per_s']:>10.0f}"
        f"{row['idle_rerun_s']:>7.2f} s{row['candidates']:>12}{row['memories']:>10}"
        for row in result["rows"][:-1]
    ]
    lines.append(f"seconds a span, largest by smallest store: {result['rows'][-1]['ratio']} (1 is linear)")
    return "\n".join(lines)


def _at(spans: int, sent_spans: int) -> dict[str, Any]:
    sessions = max(min(spans, sent_spans) // SPANS_PER_SESSION, 1)
    with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as name:
        folder = Path(name)
        with _collector(folder) as bench:
            held = _fill(bench, sessions)
        days = max(round(spans / held), 1)
        if days > 1:
            held = _copy(folder, held * days)
        with _collector(folder) as bench:
            now_ns = START_NS + (sessions + 100) * 600 * 10**9 + days * DAY_NS
            first_s, report = _timed(bench, now_ns)
            idle_s, again = _timed(bench, now_ns)
            memories = len(bench.client.memories())
    return {
        "what": f"{held} spans",
        "spans": held,
        "sessions": report.sessions,
        "mine_s": round(first_s, 3),
        "spans_per_s": round(held / first_s, 1),
        "idle_rerun_s": round(idle_s, 3),
        "idle_sessions": again.sessions,
        "candidates": len(report.candidates),
        "memories": memories,
    }


def _timed(bench: Bench, now_ns: int) -> tuple[float, Report]:
    rules = Rules.of(load_settings())
    started_s = time.perf_counter()
    report = mine(bench.reader, bench.client, rules, now_ns)
    return time.perf_counter() - started_s, report


def _copy(folder: Path, spans: int) -> int:
    """Has the store copied until it holds so many spans; how many it holds."""
    store = str(_paths(folder).store_dir)
    command = [sys.executable, "-m", "spanlore_collector.bench.filling", store, str(spans)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FillingError(done.stderr[-500:])
    return int(json.loads(done.stdout)["otel_traces"])


def _paths(folder: Path) -> Paths:
    return Paths(folder / "config", folder / "state")


def _fill(bench: Bench, sessions: int) -> int:
    """Sends the sessions; how many spans they are."""
    records = (record for number in range(sessions) for record in session_spans(number))
    sent = 0
    while batch := list(islice(records, _BATCH)):
        _send(bench, batch)
        sent += len(batch)
    return sent


def _send(bench: Bench, records: Sequence[SpanRecord]) -> None:
    headers = {"Authorization": f"Bearer {bench.token}", "Content-Type": "application/x-protobuf"}
    request = urllib.request.Request(f"{bench.url}/v1/traces", data=encode_request(records), headers=headers)
    for attempt in range(8):
        try:
            with _DIRECT.open(request, timeout=120):
                return
        except urllib.error.HTTPError as error:
            with error:
                if error.code != 503 or attempt == 7:
                    raise
            time.sleep(0.5 * 2**attempt)


@contextmanager
def _collector(folder: Path) -> Iterator[Bench]:
    """A collector whose state is below `folder`."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        ports = int(one.getsockname()[1]), int(other.getsockname()[1])
    environment = child_environment(
        {
            "SPANLORE_STATE_DIR": str(folder / "state"),
            "SPANLORE_CONFIG_DIR": str(folder / "config"),
            "SPANLORE_COLLECTOR_PORT": str(ports[0]),
            "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": str(ports[1]),
        }
    )
    paths = Paths.from_environ(environment)
    paths.ensure()
    log = folder / "collector.log"
    with log.open("wb") as stream:
        process = subprocess.Popen([sys.executable, "-m", "spanlore_collector"], env=environment, stderr=stream)
    try:
        _wait(f"http://127.0.0.1:{ports[0]}/healthz", process, log)
        known = {"pid": process.pid, "collector_port": ports[0], "clickhouse_port": ports[1]}
        paths.daemon_file.write_text(json.dumps(known))
        reader, client = connect(load_settings(environment), paths)
        with reader:
            yield Bench(f"http://127.0.0.1:{ports[0]}", paths.token(), reader, client)
            client.close()
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until_s = time.monotonic() + _START_WITHIN_S
    while time.monotonic() < until_s and process.poll() is None:
        try:
            with _DIRECT.open(url, timeout=2):
                return
        except OSError:
            time.sleep(0.05)
    raise CollectorStartError(log.read_text(errors="replace")[-2000:])
