"""`spanlore bench soak`: whether a collector's memory stays flat while it is used for a long time, and misused.

Senders deliver spans and logs at a steady rate; readers ask what pages and dashboards ask; others ask for much and
hang up in the middle, before the first row, or ask what is wrong or not allowed. The collector's resident memory is
read all the while. Its slope is that of the least squares over the second half, when caches have filled.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import http.client
import json
import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from spanlore.otlp.codec import encode_request
from spanlore_collector.bench.ingest import Running, running_collector
from spanlore_collector.bench.sample import sample_spans

BUDGETS = {"rss_mb": 900, "slope_mb_per_min": 3.0}
BATCH = 256
_MEMORY_LIMIT = "241"
MEASURED = (
    "SELECT * FROM sessions ORDER BY end_time DESC LIMIT 50",
    "SELECT harness, sum(input_tokens), sum(cost_usd) FROM inferences GROUP BY harness",
    "SELECT program, count(), countIf(outcome = 'failure') FROM tool_calls GROUP BY program",
    "SELECT count() FROM content WHERE lower(body) LIKE '%shakarenlo%'",
    "SELECT toStartOfMinute(Timestamp) AS t, quantile(0.95)(Duration) FROM otel_traces GROUP BY t FORMAT JSON",
    "SELECT session_id, count() FROM message_parts GROUP BY session_id ORDER BY 2 DESC LIMIT 20 FORMAT Native",
)
"""What pages and dashboards ask."""
ABANDONED = (
    "SELECT * FROM otel_traces",
    "SELECT c.body, p.* FROM message_parts AS p JOIN content AS c ON c.hash = p.content_hash",
    "SELECT number, repeat('x', 200) FROM numbers(5000000)",
    "SELECT sum(cityHash64(a.number, b.number)) FROM numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b",
    "SELECT uniqExact(cityHash64(number, 1)) FROM numbers(100000000)",
)
"""Of which the client hangs up."""
WRONG = (
    "SELEC 1",
    "SELECT * FROM nowhere",
    "INSERT INTO content (hash) VALUES ('x')",
    "SELECT throwIf(number = 900000), number FROM numbers(1000000)",
    "SELECT number FROM numbers(6000000) FORMAT JSON",
    "SELECT groupArray(repeat('x', 1000)) FROM numbers(3000000)",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How long, and how much."""

    seconds: float
    spans_per_s: int = 500
    readers: int = 2
    quitters: int = 2
    sample_s: float = 5.0


@dataclass
class Done:
    """What was done so far."""

    spans: int = 0
    queries: int = 0
    abandoned: int = 0
    refused: int = 0
    repeated: int = 0
    """Requests of a sender that were answered 503."""
    ended: int = 0
    """Measured queries that were ended because all at once had too much in memory."""
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds since the start, and the collector's resident memory."""

    at_s: float
    rss_mb: float


def measure(plan: Plan, tell: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Runs it; `tell` gets a line for each sample. The result is what `--json` prints."""
    with tempfile.TemporaryDirectory() as folder, running_collector(Path(folder)) as running:
        done, over = Done(), threading.Event()
        threads = [threading.Thread(target=_send, args=(running, plan, done, over))]
        threads += [threading.Thread(target=_read, args=(running, done, over, n)) for n in range(plan.readers)]
        threads += [threading.Thread(target=_quit, args=(running, done, over, n)) for n in range(plan.quitters)]
        for thread in threads:
            thread.start()
        try:
            samples = _watch(running, plan, done, over, tell)
        finally:
            over.set()
            for thread in threads:
                thread.join()
        return result_of(samples, done)


def result_of(samples: Sequence[Sample], done: Done) -> dict[str, Any]:
    """Budgets against the highest sample and the slope of the second half."""
    half = [sample for sample in samples if sample.at_s >= samples[-1].at_s / 2]
    slope = slope_per_s(half) * 60
    peak = max(sample.rss_mb for sample in samples)
    rows = [
        {"what": "spans stored", "spans": done.spans},
        {"what": "queries answered / abandoned / refused", "queries": done.queries, "abandoned": done.abandoned}
        | {"refused": done.refused},
        {"what": "requests sent again after 503", "repeated": done.repeated},
        {"what": "of the answered, ended for memory", "ended": done.ended},
        {"what": "resident memory at the start", "rss_mb": round(samples[0].rss_mb)},
        {"what": "resident memory, half time", "rss_mb": round(half[0].rss_mb)},
        {"what": "resident memory at the end", "rss_mb": round(samples[-1].rss_mb)},
        {"what": "resident memory, highest", "rss_mb": round(peak)},
        {"what": "slope of the second half", "mb_per_min": round(slope, 2)},
        {"what": f"senders or readers that failed {done.faults[:1] or ''}", "faults": len(done.faults)},
    ]
    within = peak <= BUDGETS["rss_mb"] and slope <= BUDGETS["slope_mb_per_min"] and not done.faults
    return {"bench": "soak", "rows": rows, "budgets": BUDGETS, "within_budget": within}


def slope_per_s(samples: Sequence[Sample]) -> float:
    """Megabytes a second by least squares; 0 for fewer than two samples."""
    number = len(samples)
    mean_s = sum(sample.at_s for sample in samples) / max(number, 1)
    mean_mb = sum(sample.rss_mb for sample in samples) / max(number, 1)
    spread = sum((sample.at_s - mean_s) ** 2 for sample in samples)
    together = sum((sample.at_s - mean_s) * (sample.rss_mb - mean_mb) for sample in samples)
    return together / spread if spread else 0.0


def _watch(
    running: Running, plan: Plan, done: Done, over: threading.Event, tell: Callable[[str], None]
) -> list[Sample]:
    began, samples = time.monotonic(), [Sample(0.0, running.process.memory_info().rss / 1e6)]
    while samples[-1].at_s < plan.seconds and not over.wait(plan.sample_s):
        samples.append(Sample(time.monotonic() - began, running.process.memory_info().rss / 1e6))
        last = samples[-1]
        tell(
            f"{last.at_s:6.0f} s  {last.rss_mb:6.0f} MB  {done.spans:>9,} spans  {done.queries:>6,} queries  "
            f"{done.abandoned:>5,} abandoned"
        )
    return samples


def _send(running: Running, plan: Plan, done: Done, over: threading.Event) -> None:
    """Spans at the rate, and a request of logs with each batch."""
    began = time.monotonic()
    for number in count():
        if over.wait(max(began + number * BATCH / plan.spans_per_s - time.monotonic(), 0)):
            return
        start_ns = 1_790_000_000_000_000_000 + number * 10**10
        spans = sample_spans(BATCH, seed=10_000 + number, start_time_ns=start_ns)
        log = {"timeUnixNano": str(start_ns), "body": {"stringValue": f"soak {number}"}}
        logs = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [log] * 20}]}]}).encode()
        try:
            for path, body, kind in (
                ("/v1/traces", encode_request(spans), "application/x-protobuf"),
                ("/v1/logs", logs, "application/json"),
            ):
                while _post(running, path, gzip.compress(body, 1), kind) == 503 and not over.wait(1):
                    done.repeated += 1
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            done.faults.append(f"sending: {error}")
            return
        done.spans += BATCH


def _read(running: Running, done: Done, over: threading.Event, number: int) -> None:
    chance = random.Random(number)
    while not over.wait(0.05):
        is_wrong = chance.random() < 0.2
        sql = chance.choice(WRONG if is_wrong else MEASURED)
        try:
            status, code = _ask(running, sql)
        except (OSError, http.client.HTTPException) as error:
            if not is_wrong:
                done.faults.append(f"reading {sql[:40]}: {error}")
                return
            status, code = 500, ""  # cut off in the middle
        done.refused += is_wrong
        if not is_wrong:
            done.queries += 1
            done.ended += code == _MEMORY_LIMIT
            if status != 200 and code != _MEMORY_LIMIT:
                done.faults.append(f"{status}, code {code}, for {sql[:60]}")
                return


def _quit(running: Running, done: Done, over: threading.Event, number: int) -> None:
    """Hangs up: before the first row, or after some."""
    chance = random.Random(1_000 + number)
    while not over.wait(0.02):
        connection = http.client.HTTPConnection("127.0.0.1", running.clickhouse_port, timeout=30)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("POST", "/", chance.choice(ABANDONED), _headers(running))
            if chance.random() < 0.5:
                over.wait(chance.random() * 0.3)
            else:
                connection.getresponse().read(chance.randrange(200_000))
        connection.close()
        done.abandoned += 1


def _ask(running: Running, sql: str) -> tuple[int, str]:
    """The status, and the engine's code of an error."""
    connection = http.client.HTTPConnection("127.0.0.1", running.clickhouse_port, timeout=60)
    try:
        connection.request("POST", "/", sql, _headers(running))
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("X-ClickHouse-Exception-Code", "")
    finally:
        connection.close()


def _headers(running: Running) -> dict[str, str]:
    secret = base64.b64encode(f"bench:{running.token}".encode()).decode()
    return {"Authorization": f"Basic {secret}"}


def _post(running: Running, path: str, body: bytes, content_type: str) -> int:
    headers = {"Content-Type": content_type, "Content-Encoding": "gzip", "Authorization": f"Bearer {running.token}"}
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        said = answer.read()
        if answer.status not in (200, 503):
            raise RuntimeError(f"{answer.status}: {said[:300]!r}")
        return answer.status
    finally:
        connection.close()
