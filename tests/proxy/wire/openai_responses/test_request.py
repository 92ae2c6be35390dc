"""Responses requests, parsed."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from spanlore.genai.inference import Dialect, RequestParameters
from spanlore.genai.messages import Text
from spanlore_proxy.wire.openai_responses import decode_system, decode_tools, parse_request
from spanlore_proxy.wire.openai_responses.request import gather
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest

USER = {"role": "user", "content": "hi"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "done"}]}


def parse(**document: Any) -> WireRequest:
    return parse_request(orjson.dumps({"model": "m", "input": [USER], **document}))


def test_what_the_model_made_in_a_row_is_one_message() -> None:
    """Reasoning, text and calls of one answer; each item of the client's stays by itself."""
    request = parse(input=[USER, REASONING, SAID, CALL, OUTPUT, SAID, USER])

    assert request.raw_messages == [
        USER,
        {"role": "assistant", "content": [REASONING, SAID, CALL]},
        OUTPUT,
        {"role": "assistant", "content": [SAID]},
        USER,
    ]


def test_results_of_the_provider_belong_to_the_model() -> None:
    """A shell in the provider's container, a tool search on the server."""
    remote = {"type": "shell_call", "call_id": "s1", "environment": {"type": "container_reference"}, "action": {}}
    answered = {"type": "shell_call_output", "call_id": "s1", "output": []}
    local = {"type": "shell_call", "call_id": "s2", "action": {}}
    mine = {"type": "shell_call_output", "call_id": "s2", "output": []}
    found = {"type": "tool_search_output", "execution": "server", "tools": []}

    assert [len(one.get("content", "x")) for one in gather([remote, answered, found, SAID])] == [4]
    assert list(gather([local, mine])) == [{"role": "assistant", "content": [local]}, mine]


def test_the_preamble() -> None:
    """Instructions and leading developer messages are the system prompt; `additional_tools` are tools (Codex)."""
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "exec"}]}
    rules = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]}
    later = {"type": "message", "role": "developer", "content": "Mind this."}
    space = {"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "spawn_agent"}]}
    request = parse(instructions="Be good.", input=[tools, rules, USER, later], tools=[space])

    assert decode_system(request) == (Text("Be good."), Text("Rules."))
    assert request.raw_messages == [USER, later]
    assert [tool.name for tool in decode_tools(request)] == ["spawn_agent", "exec"]


def test_a_text_alone() -> None:
    """The short form of input, and the parameters."""
    request = parse(input="hi", stream=True, max_output_tokens=7, temperature=0, top_p=1, reasoning={"effort": "high"})

    assert (request.dialect, request.model, request.is_streaming) == (Dialect.OPENAI_RESPONSES, "m", True)
    assert request.raw_messages == [USER]
    assert request.parameters == RequestParameters(7, 0.0, 1.0, reasoning_level="high")


@pytest.mark.parametrize("more", [{"previous_response_id": "r"}, {"conversation": "c"}, {"prompt": {"id": "p"}}])
def test_input_may_be_missing_where_something_else_stands_for_it(more: dict[str, Any]) -> None:
    """A stored prompt, conversation or response."""
    assert parse_request(orjson.dumps({"model": "m", **more})).raw_messages == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"input": 1}', b'{"input": ["x"]}'])
def test_what_is_no_request(body: bytes) -> None:
    """Neither a text nor a list of items."""
    with pytest.raises(MalformedRequestError):
        parse_request(body)
