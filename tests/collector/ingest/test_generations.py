"""Content under the names of three generations of the GenAI conventions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanEvent, SpanKind, SpanRecord
from spanlore_collector.ingest.generations import renewed
from spanlore_collector.store.rows import rows_of

CALL = {"id": "c1", "name": "Bash", "arguments": {"command": "ls"}}


def span(attributes: dict[str, AttributeValue], *events: SpanEvent) -> SpanRecord:
    """A foreign chat span."""
    return SpanRecord(
        b"t" * 16,
        b"s" * 8,
        None,
        "chat",
        SpanKind.CLIENT,
        1,
        2,
        {"gen_ai.system": "openai", "gen_ai.request.model": "gpt-5", **attributes},
        scope_name="foreign",
        events=events,
    )


INDEXED = span(
    {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "List.",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "Bash",
        "gen_ai.completion.0.tool_calls.0.arguments": '{"command": "ls"}',
    }
)
EVENTS = span(
    {},
    SpanEvent(1, "gen_ai.system.message", {"gen_ai.system": "openai", "content": "Be brief."}),
    SpanEvent(1, "gen_ai.user.message", {"content": "List."}),
    SpanEvent(
        2,
        "gen_ai.choice",
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": json.dumps(
                {"tool_calls": [{"id": "c1", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}]}
            ),
        },
    ),
)


def messages(record: SpanRecord, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(str(record.attributes[key]))
    return found


@pytest.mark.parametrize("old", [INDEXED, EVENTS], ids=["indexed", "events"])
def test_older_content_has_the_newest_shape(old: SpanRecord) -> None:
    """Indexed attributes and message events become input and output messages; what else is there stays."""
    new = renewed(old)

    assert messages(new, gen_ai.INPUT_MESSAGES) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "List."}]},
    ]
    assert messages(new, gen_ai.OUTPUT_MESSAGES) == [
        {"role": "assistant", "parts": [{"type": "tool_call", **CALL}], "finish_reason": "tool_calls"}
    ]
    assert not [key for key in new.attributes if key.startswith(("gen_ai.prompt.", "gen_ai.completion."))]
    assert not new.events


def test_prompt_and_completion_events() -> None:
    """The oldest events hold a JSON list, or just text."""
    new = renewed(
        span(
            {},
            SpanEvent(1, "gen_ai.content.prompt", {"gen_ai.prompt": '[{"role": "user", "content": "Hi"}]'}),
            SpanEvent(2, "gen_ai.content.completion", {"gen_ai.completion": "Hello"}),
        )
    )

    assert messages(new, gen_ai.INPUT_MESSAGES)[0]["parts"] == [{"type": "text", "content": "Hi"}]
    assert messages(new, gen_ai.OUTPUT_MESSAGES)[0]["parts"] == [{"type": "text", "content": "Hello"}]


def test_a_tool_result_names_its_call() -> None:
    """Both older forms of a tool's answer become `tool_call_response`."""
    by_event = renewed(span({}, SpanEvent(1, "gen_ai.tool.message", {"id": "c1", "content": "ok"})))
    by_index = renewed(
        span({"gen_ai.prompt.0.role": "tool", "gen_ai.prompt.0.tool_call_id": "c1", "gen_ai.prompt.0.content": "ok"})
    )
    for record in (by_event, by_index):
        part = {"type": "tool_call_response", "id": "c1", "response": "ok"}
        assert messages(record, gen_ai.INPUT_MESSAGES) == [{"role": "tool", "parts": [part]}]


def test_todays_spans_are_left_alone() -> None:
    """A span with the newest names, or none of the older, is the same object."""
    new = span({gen_ai.INPUT_MESSAGES: "[]", "gen_ai.prompt.0.content": "x"})

    assert renewed(new) is new
    assert renewed(span({})).attributes == span({}).attributes


def test_a_foreign_span_is_priced_once() -> None:
    """Where the sender names no cost it is computed, with the version of the price; a named one stands."""
    usage: dict[str, AttributeValue] = {"gen_ai.usage.prompt_tokens": 1000, "gen_ai.usage.completion_tokens": 100}
    priced = rows_of(span(usage), 1).inference
    told = rows_of(span({**usage, "spanlore.cost.usd": 0.5}), 1).inference
    unknown = rows_of(span({**usage, "gen_ai.request.model": "no-such-model"}), 1).inference

    assert priced is not None and told is not None and unknown is not None
    assert priced.cost_usd == pytest.approx(0.00225)
    assert priced.price_version.startswith("genai-prices")
    assert (told.cost_usd, unknown.cost_usd) == (0.5, None)
