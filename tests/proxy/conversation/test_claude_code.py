"""What Claude Code's requests say about themselves."""

from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore_proxy.conversation.agent import system_texts
from spanlore_proxy.conversation.claude_code import Facts, read_facts
from spanlore_proxy.wire.anthropic import parse_request

UUID = "0b1d0f5e-8f7a-4c55-9d3f-3a4f6f1f2a10"
TITLE = {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {"title": {"type": "string"}}}}}
TOOL = {"name": "Bash", "input_schema": {}}


def facts(headers: dict[str, str] | None = None, **document: Any) -> Facts:
    """Of a request with these headers and fields."""
    body = {"model": "m", "max_tokens": 32_000, "messages": [{"role": "user", "content": "hi"}], **document}
    request = parse_request(orjson.dumps(body))
    return read_facts(tuple((headers or {}).items()), request, system_texts(request))


@pytest.mark.parametrize(
    ("stated", "document", "expected"),
    [
        ("main", {"tools": [TOOL]}, CallClass.MAIN),
        ("subagent", {"tools": [TOOL]}, CallClass.SUBAGENT),
        ("compaction", {"tools": [TOOL]}, CallClass.COMPACTION),
        ("auxiliary", {"output_config": TITLE}, CallClass.TITLE),
        ("auxiliary", {"tools": [TOOL]}, CallClass.SIDE),
        ("something new", {"tools": [TOOL]}, CallClass.SIDE),
    ],
)
def test_the_class_header_decides(stated: str, document: dict[str, Any], expected: CallClass) -> None:
    """A class that is not known is a call on the side: never injected into, never mined."""
    assert facts({"x-claude-code-request-class": stated}, **document).call_class is expected


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"tools": [TOOL]}, CallClass.MAIN),
        ({"output_config": TITLE}, CallClass.TITLE),
        ({"max_tokens": 1}, CallClass.PROBE),
        ({"max_tokens": 512}, CallClass.SIDE),
        ({}, CallClass.MAIN),
        ({"tools": [TOOL], "system": [{"type": "text", "text": "x-anthropic-billing-header: cc_is_subagent=true;"}]},
         CallClass.SUBAGENT),
        ({"tools": [TOOL], "system": [{"type": "text", "text": "id"}, {"type": "text", "text":
          "You are an agent for Claude Code, Anthropic's official CLI"}]}, CallClass.SUBAGENT),
        ({"tools": [TOOL], "messages": [{"role": "user", "content": "CRITICAL: Respond with TEXT ONLY. No tools."}]},
         CallClass.COMPACTION),
    ],
)  # fmt: skip
def test_without_headers_the_body_tells(document: dict[str, Any], expected: CallClass) -> None:
    """Older versions, and other base URLs, send no class."""
    assert facts(**document).call_class is expected


@pytest.mark.parametrize(
    ("headers", "user_id", "expected"),
    [
        ({"x-claude-code-session-id": UUID}, None, UUID),
        ({}, f'{{"device_id":"d","account_uuid":"","session_id":"{UUID}"}}', UUID),
        ({}, f"user_abc_account__session_{UUID}", UUID),
        ({}, "user_abc", None),
        ({}, "[1]", None),
    ],
)
def test_the_session_stands_in_a_header_or_the_body(
    headers: dict[str, str], user_id: str | None, expected: str | None
) -> None:
    """A JSON string in newer versions, a suffix in older ones."""
    document = {} if user_id is None else {"metadata": {"user_id": user_id}}

    assert facts(headers, **document).session_id == expected


def test_agent_prompt_and_chain() -> None:
    """Sub-agent, user prompt and previous call as the client names them."""
    headers = {
        "x-claude-code-agent-id": "a1",
        "x-claude-code-agent-type": "Explore",
        "x-claude-code-prompt-id": "p",
        "x-claude-code-context-compacted": "auto",
    }
    found = facts(headers, tools=[TOOL], diagnostics={"previous_message_id": "msg_1"})

    assert (found.agent_key, found.agent_kind, found.prompt_id, found.previous_message_id) == (
        "a1",
        "Explore",
        "p",
        "msg_1",
    )
    assert found.is_compacted and found.call_class is CallClass.SUBAGENT
