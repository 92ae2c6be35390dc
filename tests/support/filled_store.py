"""A collector with sessions in which everything happened that a dashboard asks for."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from spanlore.memory import stated
from spanlore.memory.memory import Memory
from spanlore.redaction.redact import Redactor
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord
from spanlore_extractor.run import Rules, mine
from support.collecting import Collecting, collecting
from support.told import SECOND_NS, Told, failing_tests

HOUR_NS = 3600 * SECOND_NS


@dataclass
class Filled:
    """The collector, and what is in it."""

    collector: Collecting
    now_ns: int
    session: str
    """One of the sessions."""
    trace: str
    memory: str

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Rows of a query."""
        return self.collector.reader.rows(sql)


@contextmanager
def filled_store(folder: Path) -> Iterator[Filled]:
    """Five sessions of the last hours, of two agents in two repositories, with failures that come back, costs, cache,
    opportunities, an answer that was cut off, and memories."""
    now_ns = time.time_ns()
    with collecting(folder) as collector:
        operations = stated.remember("run the tests with make check", "github.com/example/tally", [], now_ns)
        collector.client.apply(operations)
        memory = operations[0].memory
        for number in range(5):
            collector.send(_session(number, now_ns, memory))
        mine(collector.reader, collector.client, Rules(0, 600 * SECOND_NS, Redactor(())), now_ns, active_too=True)
        [turn] = collector.reader.rows("SELECT session_id, trace_id FROM turns ORDER BY start_time LIMIT 1")
        yield Filled(collector, now_ns, turn["session_id"], turn["trace_id"], memory.id)


def _session(number: int, now_ns: int, memory: Memory) -> list[SpanRecord]:
    start_ns = now_ns - (5 - number) * HOUR_NS // 2
    about = {"harness": "codex" if number % 2 else "claude-code", "repository": "github.com/example/tally"}
    if number == 4:
        told = Told("session-4", start_ns=start_ns, harness="codex", repository="github.com/example/other")
        told.human("Look around.")
        for _ in range(3):
            told.run("python3 nowhere.py", "python3: can't open file 'nowhere.py': [Errno 2] No such file", 2)
        told.agent("It is not there.")
    else:
        told = failing_tests(f"session-{number}", start_ns, **about)
    return [_with_figures(record, number, memory) for record in told.spans()]


def _with_figures(record: SpanRecord, number: int, memory: Memory) -> SpanRecord:
    if record.attributes.get(gen_ai.OPERATION_NAME) != "chat":
        return record
    step = int(str(record.attributes.get(lore.STEP, 0)))
    state = "withheld" if number == 1 else "shown"
    placement = {
        "kind": "session_block",
        "state": state,
        "anchor": "system",
        "memory_ids": [memory.id],
        "bytes": 120 if state == "shown" else 0,
        "first": step == 0,
        "position": -1,
        "sizes": [120],
    }
    skipped = {**placement, "state": "skipped", "reason": "said", "first": False, "bytes": 0}
    changes: dict[str, Any] = {
        gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: 700,
        gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS: 100,
        gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK: 0.4,
        lore.OVERHEAD_NS: 300_000 + step,
        lore.REDACTIONS: 1,
        lore.INJECTED_PLACEMENTS: json.dumps([placement, skipped]),
        "spanlore.injection.skipped": "nothing",
    }
    if number < 4:
        changes |= {lore.COST_USD: 0.0125, lore.PRICE_VERSION: "genai-prices 0"}
    if state == "shown":
        changes |= {lore.INJECTED_MEMORY_IDS: (memory.id,), lore.INJECTED_BYTES: 120}
    if number == 2 and step == 1:
        changes |= {lore.COMPLETE: False, gen_ai.ERROR_TYPE: "overloaded_error", lore.HTTP_STATUS: 529}
    return replace(record, attributes={**record.attributes, **changes})
