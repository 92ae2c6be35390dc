"""Converse shapes under the Messages API's names."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.bedrock.converse import messages_blocks, messages_tools, messages_usage


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"text": "a"}, {"type": "text", "text": "a"}),
        ({"toolUse": {"toolUseId": "1", "name": "f", "input": {}}},
         {"type": "tool_use", "id": "1", "name": "f", "input": {}}),
        ({"toolResult": {"toolUseId": "1", "content": [{"json": {"a": 1}}], "status": "success"}},
         {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": '{"a":1}'}],
          "is_error": False}),
        ({"reasoningContent": {"reasoningText": {"text": "h", "signature": "s"}}},
         {"type": "thinking", "thinking": "h", "signature": "s"}),
        ({"reasoningContent": {"redactedContent": "x"}}, {"type": "redacted_thinking", "data": "x"}),
        ({"citationsContent": {"content": [{"text": "a"}, {"text": "b"}]}}, {"type": "text", "text": "ab"}),
        ({"image": {"format": "png", "source": {"bytes": "YQ=="}}},
         {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "YQ=="}}),
        ({"document": {"source": {"s3Location": {"uri": "s3://a"}}}},
         {"type": "document", "source": {"type": "url", "url": "s3://a"}}),
    ],
)  # fmt: skip
def test_blocks(block: dict[str, Any], expected: dict[str, Any]) -> None:
    """Each has its counterpart."""
    assert list(messages_blocks([block])) == [expected]


def test_blocks_that_say_nothing() -> None:
    """Cache points are left out; what is no list has no blocks."""
    assert list(messages_blocks([{"cachePoint": {}}])) == list(messages_blocks(None)) == []


def test_tools_and_usage() -> None:
    """Schemas stand one level deeper, counts have other names."""
    tools = [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}, {"systemTool": {"name": "s"}}]

    assert [tool["name"] for tool in messages_tools({"tools": tools})] == ["f", "s"]
    assert messages_usage({"inputTokens": 1, "cacheReadInputTokens": 2, "totalTokens": 3}) == {
        "input_tokens": 1,
        "cache_read_input_tokens": 2,
    }
