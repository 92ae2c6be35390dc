"""`spanlore bench ingest`: spans a second until they can be queried, against what the engine alone takes.

Both are measured in one run, in turns, with the same spans and batch size: the collector over HTTP (gzip, protobuf,
several senders) in a process of its own, and the engine with rows that are ready (`bench.engine`). A batch counts when
it is acknowledged, which is when its rows are committed; at the end the collector's count is compared.
"""

from __future__ import annotations

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
from pathlib import Path
from typing import Any

import psutil

from spanlore.otlp.codec import encode_request
from spanlore.settings import Paths, child_environment
from spanlore_collector.bench.sample import sample_spans

BUDGETS = {"share_of_engine": 0.5, "rss_mb": 900}


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent."""

    spans: int
    batch: int
    senders: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured: spans a second, and the collector's memory."""

    collected: float
    engine: float
    traces: float
    start_mb: float
    end_mb: float


@dataclass(frozen=True, slots=True)
class Running:
    """A collector that was started for the measurement."""

    port: int
    token: str
    process: psutil.Process


def measure(plan: Plan) -> dict[str, Any]:
    """Runs the rounds; the result is what `--json` prints."""
    figures: list[Round] = []
    for number in range(plan.rounds):
        with tempfile.TemporaryDirectory() as folder:
            alone = _engine(Path(folder), plan)
        with tempfile.TemporaryDirectory() as folder, _collector(Path(folder)) as running:
            start_bytes = running.process.memory_info().rss
            collected_s = send_all(running, plan, seed=number + 10)
            end_bytes = running.process.memory_info().rss
        figures.append(
            Round(
                collected=plan.spans / collected_s,
                engine=plan.spans / alone["all_tables_s"],
                traces=plan.spans / alone["otel_traces_s"],
                start_mb=start_bytes / 1e6,
                end_mb=end_bytes / 1e6,
            )
        )
    return result_of(figures)


def result_of(figures: Sequence[Round]) -> dict[str, Any]:
    """Medians of the rounds, the ratio of each round with itself."""
    share = statistics.median(figure.collected / figure.engine for figure in figures)
    rss_mb = max(figure.end_mb for figure in figures)
    rows = [
        {"what": "collector, until queryable", "spans_per_s": _median(figures, "collected")},
        {"what": "engine alone, the same tables", "spans_per_s": _median(figures, "engine")},
        {"what": "engine alone, otel_traces only", "spans_per_s": _median(figures, "traces")},
        {"what": "collector / engine, same tables", "share_of_engine": round(share, 2)},
        {"what": "collector's memory", "start_mb": _median(figures, "start_mb"), "rss_mb": round(rss_mb)},
    ]
    within = share >= BUDGETS["share_of_engine"] and rss_mb <= BUDGETS["rss_mb"]
    return {"bench": "ingest", "rows": rows, "budgets": BUDGETS, "within_budget": within}


def table(result: dict[str, Any]) -> str:
    """The result for people."""
    lines = [
        f"{row['what']:<34}" + "".join(f"{key} {value:,}  " for key, value in row.items() if key != "what")
        for row in result["rows"]
    ]
    return "\n".join([*lines, "within budget" if result["within_budget"] else "NOT within budget"])


def _median(figures: Sequence[Round], name: str) -> int:
    return round(statistics.median(float(getattr(figure, name)) for figure in figures))


def _engine(folder: Path, plan: Plan) -> dict[str, float]:
    command = [sys.executable, "-m", "spanlore_collector.bench.engine", str(folder), str(plan.spans), str(plan.batch)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


@contextmanager
def _collector(folder: Path) -> Iterator[Running]:
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
        for line in log:
            if found := re.search(r"OTLP and API on http://[\d.]+:(\d+)", line):
                break
        else:
            raise RuntimeError("the collector did not start")
        drain = threading.Thread(target=lambda: [None for _ in log], daemon=True)
        drain.start()
        try:
            yield Running(int(found[1]), token, psutil.Process(process.pid))
        finally:
            process.terminate()
            process.wait(30)
            drain.join(5)


def send_all(running: Running, plan: Plan, seed: int) -> float:
    """Seconds until the last batch was acknowledged."""
    records = sample_spans(plan.spans, seed=seed)
    sizes = range(0, plan.spans, plan.batch)
    bodies = iter([gzip.compress(encode_request(records[start : start + plan.batch]), 1) for start in sizes])
    _post(running, [gzip.compress(encode_request(sample_spans(20, seed=seed + 1000)))])
    before, lock = _stored(running), threading.Lock()

    def next_bodies() -> Iterator[bytes]:
        while True:
            with lock:
                body = next(bodies, None)
            if body is None:
                return
            yield body

    senders = [threading.Thread(target=_post, args=(running, next_bodies())) for _ in range(plan.senders)]
    began = time.perf_counter()
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    seconds = time.perf_counter() - began
    stored = _stored(running) - before
    if stored != plan.spans:
        raise RuntimeError(f"{stored} spans were stored, not {plan.spans}")
    return seconds


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
