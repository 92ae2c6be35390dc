"""Codex rollouts."""

from __future__ import annotations

from typing import Any

import orjson

from spanlore.genai.messages import Text, ToolCall
from spanlore.transcripts.codex import read
from spanlore.transcripts.events import Answered, Compacted, Result, Said, Stopped


def line(kind: str, **payload: Any) -> bytes:
    return orjson.dumps({"timestamp": "2026-04-10T11:49:49Z", "type": kind, "payload": payload})


CALL = {"type": "function_call", "name": "exec_command", "arguments": '{"cmd":"ls"}', "call_id": "call_1"}


def test_a_turn() -> None:
    """Items are the conversation; `event_msg` repeats it and is left out, but for aborts and token counts."""
    found = read(
        b"\n".join(
            (
                line("session_meta", id="s1", cwd="/repo", cli_version="0.130.0", git={"branch": "main"}),
                line("event_msg", type="user_message", message="hello"),
                line("response_item", type="message", role="user", content=[{"type": "input_text", "text": "hello"}]),
                line("turn_context", model="gpt-5.4", cwd="/repo"),
                line("response_item", type="message", role="assistant", content=[{"text": "I look."}]),
                line("response_item", **CALL),
                line("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 9}}),
                line("response_item", type="function_call_output", call_id="call_1", output="x"),
                line("event_msg", type="turn_aborted", reason="interrupted"),
                line("compacted", message="summary"),
            )
        )
    )

    assert (found.session_id, found.cwd, found.branch, found.version) == ("s1", "/repo", "main", "0.130.0")
    assert [type(event) for event in found.events] == [Said, Answered, Answered, Result, Stopped, Compacted]
    said, call = found.events[1:3]
    assert isinstance(said, Answered) and isinstance(call, Answered)
    assert (said.part, call.part) == (Text("I look."), ToolCall("call_1", "exec_command", {"cmd": "ls"}))
    assert (said.answer, said.model) == (call.answer, "gpt-5.4")
    assert (call.usage.input_tokens, said.usage.input_tokens) == (9, None)


def test_first_versions_have_no_envelope() -> None:
    """The items stand on the lines themselves."""
    found = read(
        b"\n".join(
            (
                orjson.dumps({"id": "s0", "timestamp": "2025-05-01T00:00:00Z", "instructions": None}),
                orjson.dumps(CALL),
                orjson.dumps({"type": "function_call_output", "call_id": "call_1", "output": '{"output":"x"}'}),
            )
        )
    )

    assert found.session_id == "s0"
    assert [type(event) for event in found.events] == [Answered, Result]


def test_an_editors_context_is_not_the_persons() -> None:
    """Only what stands after the editor's own heading was typed."""
    text = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nfix it\n"
    content = [{"type": "input_text", "text": text}]
    [event] = read(line("response_item", type="message", role="user", content=content)).events

    assert isinstance(event, Said) and event.blocks == ("fix it",)
