"""Sessions in which a memory was shown or withheld, as the proxy tells them: a request and the commands after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import orjson

from spanlore.memory.memory import Memory
from spanlore.semconv import gen_ai, lore
from spanlore.spans.ids import inference_span_id, tool_span_id, trace_id_of
from spanlore.spans.record import SpanKind, SpanRecord, StatusCode

START_NS: Final = 1_796_000_000_000_000_000
SECOND_NS: Final = 1_000_000_000


def session_spans(
    session_id: str,
    memory: Memory,
    state: str = "shown",
    *,
    fails: bool = False,
    commands: Sequence[str] = (),
    reason: str = "",
    **attributes: Any,
) -> list[SpanRecord]:
    """One request with the opportunity, then the commands; with `fails` also the failure that the memory speaks of."""
    placement = {
        "kind": "session_block", "state": state, "anchor": "system", "memory_ids": [memory.id], "bytes": 400,
        "first": state != "skipped", "position": -1,
        "sizes": [100 if state == "shown" else 0], "reason": reason,
    }  # fmt: skip
    chat = {
        gen_ai.OPERATION_NAME: "chat",
        gen_ai.REQUEST_MODEL: "claude-x",
        gen_ai.USAGE_INPUT_TOKENS: 1000,
        gen_ai.USAGE_OUTPUT_TOKENS: 10,
        lore.COST_USD: 0.02,
        lore.COST_INPUT_USD: 0.01,
        lore.INJECTED_PLACEMENTS: orjson.dumps([placement]).decode(),
        **({lore.INJECTED_MEMORY_IDS: (memory.id,), lore.INJECTED_BYTES: 400} if state == "shown" else {}),
    }
    spans = [chat_span(session_id, 0, **{**chat, **attributes})]
    calls = [(command, "", "") for command in commands]
    if fails:
        calls.append((memory.trigger.program, memory.trigger.signatures[0], memory.trigger.error_class))
    for number, (command, signature, error_class) in enumerate(calls):
        spans.append(_tool(session_id, memory, number, command, signature, error_class))
    return spans


def chat_span(session_id: str, step: int, **attributes: Any) -> SpanRecord:
    """A model call of the session."""
    start_ns = START_NS + step * 60 * SECOND_NS
    return SpanRecord(
        trace_id=trace_id_of(session_id, "t"),
        span_id=inference_span_id(session_id, f"r{step}", 1),
        parent_span_id=None,
        name="chat claude-x",
        kind=SpanKind.CLIENT,
        start_time_ns=start_ns,
        end_time_ns=start_ns + SECOND_NS,
        attributes={
            lore.SESSION_ID: session_id,
            lore.CONVERSATION: session_id[:16],
            lore.HARNESS: "claude-code",
            lore.REPOSITORY: f"example.org/{session_id.partition('-')[0]}",
            lore.CALL_CLASS: "main",
            **attributes,
        },
        resource={},
    )


def _tool(session_id: str, memory: Memory, number: int, command: str, signature: str, error_class: str) -> SpanRecord:
    start_ns = START_NS + (2 + number) * SECOND_NS
    failure = {lore.SIGNATURE: signature, lore.ERROR_CLASS: error_class, lore.PROGRAM: memory.trigger.program}
    return SpanRecord(
        trace_id=trace_id_of(session_id, "t"),
        span_id=tool_span_id(session_id, f"call{number}"),
        parent_span_id=None,
        name="execute_tool Bash",
        kind=SpanKind.INTERNAL,
        start_time_ns=start_ns,
        end_time_ns=start_ns + SECOND_NS,
        attributes={
            gen_ai.OPERATION_NAME: gen_ai.OP_EXECUTE_TOOL,
            gen_ai.TOOL_NAME: "Bash",
            gen_ai.TOOL_CALL_ID: f"call{number}",
            lore.SESSION_ID: session_id,
            lore.OUTCOME: "failure" if signature else "success",
            lore.COMMAND: command,
            **(failure if signature else {}),
        },
        resource={},
        status_code=StatusCode.ERROR if signature else StatusCode.UNSET,
    )
