"""`spanlore bench ingest`: spans a second until they can be queried, against what the engine alone takes.

All is measured in one run, in turns, with the same spans and batch size: the collector over HTTP (gzip, protobuf,
several senders) in a process of its own, the engine with rows that are ready (`bench.engine`), and the decoding of the
same bodies alone. A batch counts when it is acknowledged, which is when its rows are committed; at the end the
collector's count is compared. Several sizes show what a growing store costs. Latency is that of one sender that waits
for each answer: what it has been told is queryable, the newest span is looked for at once.
"""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import psutil

from spanlore.otlp.codec import encode_request
from spanlore.settings import Paths, child_environment
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.ingest.receiver import prepare

BUDGETS = {"share_of_engine": 0.5, "rss_mb": 900}
SLICE = 20_480
"""Spans whose bodies are in memory at once."""
LATENCY_BATCHES = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent: so many spans a round, for each of the sizes."""

    sizes: tuple[int, ...]
    batch: int
    senders: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured: spans a second, milliseconds until queryable, and the collector's memory."""

    spans: int
    collected: float
    engine: float
    traces: float
    decoded: float
    latency_p50_ms: float
    latency_p99_ms: float
    start_mb: float
    end_mb: float


@dataclass(frozen=True, slots=True)
class Running:
    """A collector that was started for the measurement."""

    port: int
    clickhouse_port: int
    token: str
    process: psutil.Process


def measure(plan: Plan) -> dict[str, Any]:
    """Runs the rounds; the result is what `--json` prints."""
    figures = [_round(plan, spans, number) for spans in plan.sizes for number in range(plan.rounds)]
    return result_of(figures)


def _round(plan: Plan, spans: int, number: int) -> Round:
    with tempfile.TemporaryDirectory() as folder:
        alone = _engine(Path(folder), spans, plan.batch)
    with tempfile.TemporaryDirectory() as folder, running_collector(Path(folder)) as running:
        start_bytes = running.process.memory_info().rss
        collected_s = send_all(running, spans, plan.batch, plan.senders, seed=number + 10)
        end_bytes = running.process.memory_info().rss
        waits_ms = latencies_ms(running, plan.batch, seed=number + 500)
    return Round(
        spans=spans,
        collected=spans / collected_s,
        engine=spans / alone["all_tables_s"],
        traces=spans / alone["otel_traces_s"],
        decoded=plan.batch / decode_s(plan.batch),
        latency_p50_ms=statistics.median(waits_ms),
        latency_p99_ms=max(waits_ms),
        start_mb=start_bytes / 1e6,
        end_mb=end_bytes / 1e6,
    )


def result_of(figures: Sequence[Round]) -> dict[str, Any]:
    """For each size medians of the rounds, and the ratio of each round with itself."""
    rows: list[dict[str, Any]] = []
    shares = []
    for spans in dict.fromkeys(figure.spans for figure in figures):
        some = [figure for figure in figures if figure.spans == spans]
        share = statistics.median(figure.collected / figure.engine for figure in some)
        of_traces = statistics.median(figure.collected / figure.traces for figure in some)
        shares.append(share)
        size = {"spans": spans}
        rows += [
            {"what": "collector, until queryable", **size, "spans_per_s": _median(some, "collected")},
            {"what": "engine alone, the same tables", **size, "spans_per_s": _median(some, "engine")},
            {"what": "engine alone, otel_traces only", **size, "spans_per_s": _median(some, "traces")},
            {"what": "decoding OTLP alone, one thread", **size, "spans_per_s": _median(some, "decoded")},
            {"what": "collector / engine, same tables", **size, "share_of_engine": round(share, 2)},
            {"what": "collector / engine, otel_traces only", **size, "share_of_traces": round(of_traces, 2)},
            {
                "what": "one batch until queryable, one sender",
                **size,
                "p50_ms": _median(some, "latency_p50_ms"),
                "max_ms": _median(some, "latency_p99_ms"),
            },
            {
                "what": "collector's memory",
                **size,
                "start_mb": _median(some, "start_mb"),
                "rss_mb": round(max(figure.end_mb for figure in some)),
            },
        ]
    rss_mb = max(figure.end_mb for figure in figures)
    within = min(shares) >= BUDGETS["share_of_engine"] and rss_mb <= BUDGETS["rss_mb"]
    return {"bench": "ingest", "rows": rows, "budgets": BUDGETS, "within_budget": within}


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [
        f"{row['what']:<38}" + "".join(f"{key} {value:,}  " for key, value in row.items() if key != "what")
        for row in result["rows"]
    ]
    return "\n".join([*lines, "within budget" if result["within_budget"] else "NOT within budget"])


def _median(figures: Sequence[Round], name: str) -> int:
    return round(statistics.median(float(getattr(figure, name)) for figure in figures))


def _engine(folder: Path, spans: int, batch: int) -> dict[str, float]:
    command = [sys.executable, "-m", "spanlore_collector.bench.engine", str(folder), str(spans), str(batch)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


@contextmanager
def running_collector(folder: Path) -> Iterator[Running]:
    """Starts one whose state is in `folder`; ends it."""
    paths = Paths(folder / "config", folder)
    environment = child_environment(
        {
            "SPANLORE_CONFIG_DIR": str(paths.config_dir),
            "SPANLORE_STATE_DIR": str(paths.state_dir),
            "SPANLORE_COLLECTOR_PORT": "0",
            "SPANLORE_COLLECTOR_CLICKHOUSE_PORT": "0",
            "SPANLORE_CLICKHOUSE_URL": "",
        }
    )
    token = paths.token()
    process = subprocess.Popen(
        [sys.executable, "-m", "spanlore_collector"], env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    with process, process.stderr as log:
        found = [re.search(r" on http://[\d.]+:(\d+)", line) for line in _listening(log)]
        ports = [int(one[1]) for one in found if one]
        if len(ports) != 2:
            raise RuntimeError("the collector did not start")
        port, clickhouse_port = ports
        drain = threading.Thread(target=lambda: [None for _ in log], daemon=True)
        drain.start()
        try:
            yield Running(port, clickhouse_port, token, psutil.Process(process.pid))
        finally:
            process.terminate()
            process.wait(30)
            drain.join(5)


def _listening(log: Iterable[str]) -> Iterator[str]:
    """The two lines that say where the collector listens."""
    lines = (line for line in log if "listening: " in line)
    return islice(lines, 2)


def send_all(running: Running, spans: int, batch: int, senders: int, seed: int) -> float:
    """Seconds until the last batch was acknowledged. Bodies are made between the slices, untimed."""
    _post(running, [gzip.compress(encode_request(sample_spans(20, seed=seed + 1000)))])
    before = _stored(running)
    seconds = 0.0
    for number, start in enumerate(range(0, spans, SLICE)):
        records = sample_spans(min(SLICE, spans - start), seed=seed * 10_000 + number)
        sizes = range(0, len(records), batch)
        bodies = [gzip.compress(encode_request(records[at : at + batch]), 1) for at in sizes]
        del records
        seconds += _send_slice(running, bodies, senders)
    stored = _stored(running) - before
    if stored != spans:
        raise RuntimeError(f"{stored} spans were stored, not {spans}")
    return seconds


def _send_slice(running: Running, bodies: Sequence[bytes], senders: int) -> float:
    waiting, lock = iter(bodies), threading.Lock()

    def next_bodies() -> Iterator[bytes]:
        while True:
            with lock:
                body = next(waiting, None)
            if body is None:
                return
            yield body

    threads = [threading.Thread(target=_post, args=(running, next_bodies())) for _ in range(senders)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def latencies_ms(running: Running, batch: int, seed: int) -> list[float]:
    """How long each of some batches took from its sending until a query found its last span."""
    waits = []
    for number in range(LATENCY_BATCHES):
        records = sample_spans(batch, seed=seed * 10_000 + number)
        body = gzip.compress(encode_request(records), 1)
        began = time.perf_counter()
        _post(running, [body])
        while not _finds(running, records[-1].trace_id.hex(), records[-1].span_id.hex()):
            pass
        waits.append((time.perf_counter() - began) * 1e3)
    return waits


def decode_s(batch: int) -> float:
    """Seconds that one thread takes from a request's bytes to rows; the best of some."""
    body = gzip.compress(encode_request(sample_spans(batch, seed=9)), 1)
    times = []
    for _ in range(LATENCY_BATCHES):
        began = time.perf_counter()
        prepare(body, "gzip", False, 1)
        times.append(time.perf_counter() - began)
    return min(times)


def _post(running: Running, bodies: Iterable[bytes]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    headers = {
        "Content-Type": "application/x-protobuf",
        "Content-Encoding": "gzip",
        "Authorization": f"Bearer {running.token}",
    }
    for body in bodies:
        connection.request("POST", "/v1/traces", body, headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {answer.read()[:300]!r}")
        answer.read()
    connection.close()


def _stored(running: Running) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", running.port)
    connection.request("GET", "/v1/status", headers={"Authorization": f"Bearer {running.token}"})
    status = json.loads(connection.getresponse().read())
    connection.close()
    return int(status["ingest"]["spans"])


def _finds(running: Running, trace_id: str, span_id: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", running.clickhouse_port)
    sql = f"SELECT count() FROM otel_traces WHERE TraceId = '{trace_id}' AND SpanId = '{span_id}'"
    secret = base64.b64encode(f"bench:{running.token}".encode()).decode()
    connection.request("POST", "/", sql, {"Authorization": f"Basic {secret}"})
    answer = connection.getresponse()
    found = answer.read().strip()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{answer.status}: {found[:300]!r}")
    return found == b"1"
