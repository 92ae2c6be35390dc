"""Two instrumentations of one program tell of the same model call: it and its cost stand once."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from clickhouse_connect.driver.client import Client

from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.rows import SpanRows, rows_of

END_NS = 1_790_000_010_000_000_000
_SAID = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "run the tests"}]}])
_numbers = itertools.count(1)


class Program:
    """A trace of its own, whose session has the same name."""

    def __init__(self) -> None:
        self.trace = (b"retold" + next(_numbers).to_bytes(10, "big")).ljust(16)
        self.session = self.trace.hex()

    def call(self, answer: str, scope: str, *, full: bool = False, ahead_s: int = 0) -> SpanRows:
        """A chat span as an instrumentation with this name sends it; `full`: with what was said.

        `ahead_s`: how far the clock of the collector that takes it is ahead.
        """
        now_ms = time.time_ns() // 1_000_000 + ahead_s * 1000
        attributes: dict[str, AttributeValue] = {
            gen_ai.OPERATION_NAME: "chat",
            gen_ai.CONVERSATION_ID: self.session,
            gen_ai.USAGE_INPUT_TOKENS: 1000,
            gen_ai.USAGE_OUTPUT_TOKENS: 10,
            **({gen_ai.RESPONSE_ID: answer} if answer else {}),
            **({gen_ai.INPUT_MESSAGES: _SAID} if full else {}),
        }
        span_id = (scope + answer).encode().ljust(8)[:8]
        return rows_of(
            SpanRecord(self.trace, span_id, None, "chat", SpanKind.CLIENT, END_NS - 1, END_NS, attributes), now_ms
        )

    def told(self, client: Client) -> tuple[list[str], int]:
        """Span ids that count as model calls, and how many spans there are."""
        where = f"TraceId = '{self.trace.hex()}'"
        calls = client.query(f"SELECT span_id FROM inferences WHERE trace_id = '{self.trace.hex()}'").result_rows
        return [row[0] for row in calls], client.query(f"SELECT count() FROM otel_traces WHERE {where}").result_rows[0][
            0
        ]


@pytest.mark.parametrize("order", ["one batch", "two batches", "another process", "told again"])
def test_a_call_told_twice_counts_once(store: Store, order: str) -> None:
    """However its two spans arrive; both stay as they were sent."""
    program = Program()
    inner, outer = program.call("msg_1", "sdk"), program.call("msg_1", "lib")
    with store.connect() as client:
        inserter = Inserter(client)
        inserter.insert([[inner, outer]] if order == "one batch" else [[inner]])
        if order == "another process":
            inserter = Inserter(client)
        inserter.insert([[outer]])
        if order == "told again":
            inserter.insert([[inner, outer]])

        assert program.told(client) == ([inner.span_id], 2)


def test_a_row_from_the_future_hides_no_call(store: Store) -> None:
    """What a collector stored whose clock was a day ahead does not make the one after it forget the last hour."""
    program, ahead = Program(), Program()
    inner, outer = program.call("msg_1", "sdk"), program.call("msg_1", "lib")
    with store.connect() as client:
        Inserter(client).insert([[inner, ahead.call("msg_1", "sdk", ahead_s=86_400)]])
        Inserter(client).insert([[outer]])

        assert program.told(client) == ([inner.span_id], 2)


def test_the_fuller_one_of_a_batch_stands(store: Store) -> None:
    """What was said is not lost because a span without content came first."""
    program = Program()
    bare, full = program.call("msg_1", "sdk"), program.call("msg_1", "lib", full=True)
    with store.connect() as client:
        Inserter(client).insert([[bare, full]])

        assert program.told(client) == ([full.span_id], 2)


def test_other_answers_are_other_calls(store: Store) -> None:
    """Another id, no id, or another trace: each counts."""
    program, other = Program(), Program()
    mine = [program.call("msg_1", "sdk"), program.call("msg_2", "sdk"), program.call("", "a"), program.call("", "b")]
    with store.connect() as client:
        Inserter(client).insert([[*mine, other.call("msg_1", "sdk")]])

        assert sorted(program.told(client)[0]) == sorted(rows.span_id for rows in mine)
        assert len(other.told(client)[0]) == 1
