"""An agent's own telemetry beside the wire: in either order every call and its cost stand once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord
from spanlore_collector.ingest.agents import named_anew, spans_of_logs
from spanlore_collector.ingest.logs import LogRecord
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.rows import SpanRows, rows_of

END_NS = 1_790_000_010_000_000_000
_numbers = itertools.count(1)


class Call:
    """One model call of a session of its own, as wire and agent tell it."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.session = f"claims-{self.number}"
        self.request = f"req_claims_{self.number}"

    def wire(self) -> SpanRows:
        """The proxy's chat span."""
        attributes: dict[str, AttributeValue] = {
            gen_ai.OPERATION_NAME: "chat",
            gen_ai.USAGE_INPUT_TOKENS: 1000 + self.number,
            gen_ai.USAGE_OUTPUT_TOKENS: 10,
            lore.SCHEMA_VERSION: 1,
            lore.SESSION_ID: self.session,
            lore.HARNESS: "codex",
            lore.SOURCE: "wire",
            lore.COST_USD: 0.25,
            lore.PROVIDER_REQUEST_ID: self.request,
        }
        ids = (self.number.to_bytes(16, "big"), self.number.to_bytes(8, "big"))
        return rows_of(SpanRecord(*ids, None, "chat", SpanKind.CLIENT, END_NS - 10**9, END_NS, attributes), 1)

    def claude_event(self) -> list[SpanRows]:
        """Claude Code's events: the request, a tool and the prompt."""
        common: dict[str, AttributeValue] = {"session.id": self.session, "prompt.id": "p"}
        request: dict[str, AttributeValue] = {"request_id": self.request, "cost_usd": 0.24, "input_tokens": 1}
        tool = {"tool_name": "Bash", "success": "true", "tool_use_id": "c1"}
        return events(
            ("claude_code.api_request", {**common, **request}),
            ("claude_code.tool_result", {**common, **tool}),
            ("claude_code.user_prompt", {**common, "prompt": "please"}),
        )

    def claude_span(self) -> SpanRows:
        """Claude Code's own span of the same request."""
        ids = (bytes([9]) + self.number.to_bytes(15, "big"), bytes([9]) + self.number.to_bytes(7, "big"))
        attributes: dict[str, AttributeValue] = {
            "session.id": self.session,
            "request_id": self.request,
            "model": "claude-sonnet-4-5",
            "input_tokens": 1,
            "output_tokens": 1,
        }
        span = SpanRecord(*ids, None, "claude_code.llm_request", SpanKind.CLIENT, END_NS - 1, END_NS, attributes)
        return rows_of(named_anew(span), 1)

    def codex_event(self) -> list[SpanRows]:
        """Codex' event, which names no request."""
        attributes: dict[str, AttributeValue] = {
            "conversation.id": self.session,
            "event.kind": "response.completed",
            "model": "gpt-5",
            "input_token_count": 1000 + self.number,
            "output_token_count": 10,
        }
        return events(("codex.sse_event", attributes))


def events(*told: tuple[str, dict[str, AttributeValue]]) -> list[SpanRows]:
    records = [LogRecord(END_NS + 10**9, name, "", attributes, {}) for name, attributes in told]
    return [rows_of(span, 1) for span in spans_of_logs(records)]


def told_of(client: Client, call: Call) -> dict[str, list[Any]]:
    """What the store says of the call's session."""
    where = f"WHERE session_id = '{call.session}'"
    calls = client.query(f"SELECT source, toFloat64(cost_usd) FROM inferences {where}").result_rows
    others = {
        table: [row[0] for row in client.query(f"SELECT source FROM {table} {where}").result_rows]
        for table in ("tool_calls", "turns", "human_messages")
    }
    sums = client.query(f"SELECT inferences, tool_calls, turns, toFloat64(cost_usd) FROM sessions {where}").result_rows
    return {"inferences": [tuple(row) for row in calls], "sessions": [tuple(row) for row in sums], **others}


ONLY_WIRE = {
    "inferences": [("wire", 0.25)],
    "sessions": [(1, 0, 0, 0.25)],
    "tool_calls": [],
    "turns": [],
    "human_messages": [],
}


@pytest.mark.parametrize("order", ["wire first", "agent first", "one batch", "agent first, another process"])
@pytest.mark.parametrize("told_by", ["claude_event", "codex_event", "claude_span"])
def test_the_wire_stands_in_any_order(store: Store, order: str, told_by: str) -> None:
    """By request id, or by what the call looks like where the agent gives no id; also when told again."""
    call = Call()
    told = getattr(call, told_by)()
    report: Sequence[SpanRows] = told if isinstance(told, list) else [told]
    with store.connect() as client:
        inserter = Inserter(client)
        if order == "wire first":
            inserter.insert([[call.wire()]])
            inserter.insert([report])
        elif order == "one batch":
            inserter.insert([[*report, call.wire()]])
        else:
            inserter.insert([report])
            if order.endswith("process"):
                inserter = Inserter(client)
            inserter.insert([[call.wire()]])
        inserter.insert([report])
        inserter.insert([[call.wire()]])

        assert told_of(client, call) == ONLY_WIRE


def test_without_the_wire_the_agent_is_heard(store: Store) -> None:
    """Request, tool call and prompt of an agent that is not proxied stand once, with its own cost."""
    call = Call()
    with store.connect() as client:
        inserter = Inserter(client)
        for _ in range(2):
            inserter.insert([call.claude_event()])
        told = told_of(client, call)

    assert told["inferences"] == [(lore.AGENT_TELEMETRY, 0.24)]
    assert [len(told[table]) for table in ("tool_calls", "turns", "human_messages")] == [1, 1, 1]


def test_an_agents_span_and_event_are_one_call(store: Store) -> None:
    """Claude Code may send both; the first is typed, and the span stays a span."""
    call = Call()
    with store.connect() as client:
        inserter = Inserter(client)
        inserter.insert([call.claude_event()])
        inserter.insert([[call.claude_span()]])
        traces = f"SELECT count() FROM otel_traces WHERE SpanId = '{call.claude_span().span_id}'"

        assert len(told_of(client, call)["inferences"]) == 1
        assert client.query(traces).result_rows == [(1,)]


def test_equal_counts_at_another_moment_are_another_call(store: Store) -> None:
    """Two calls that only look alike both stand."""
    call = Call()
    late = call.wire()
    assert late.inference is not None
    moved = late.inference._replace(end_time=END_NS + 600 * 10**9, start_time=END_NS + 599 * 10**9)
    with store.connect() as client:
        inserter = Inserter(client)
        inserter.insert([call.codex_event()])
        inserter.insert([[replace(late, inference=moved)]])

        assert len(told_of(client, call)["inferences"]) == 2
