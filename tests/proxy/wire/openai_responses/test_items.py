"""Items, decoded."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from spanlore.genai.messages import (
    Blob,
    Generic,
    Message,
    Part,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Uri,
)
from spanlore_proxy.wire.openai_responses.items import decode_item, decode_message, decode_part, decode_tools
from spanlore_proxy.wire.openai_responses.request import read_document

SHA = hashlib.sha256(b"abc").hexdigest()


def test_messages_of_every_role() -> None:
    """A person's, the model's, a tool's, a developer's, and what has no role."""
    items = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "e"},
             {"role": "assistant", "content": "yes"}]  # fmt: skip

    assert decode_message({"role": "user", "content": "hi"}) == Message(Role.USER, (Text("hi"),))
    assert decode_message({"role": "developer", "content": "mind"}) == Message(Role.SYSTEM, (Text("mind"),))
    assert decode_message({"role": "assistant", "content": items}) == Message(
        Role.ASSISTANT, (Reasoning("hm", "e"), Text("yes"))
    )
    assert decode_message({"type": "function_call_output", "call_id": "c", "output": "o"}) == Message(
        Role.TOOL, (ToolResult("c", "o"),)
    )
    sealed = {"type": "compaction", "encrypted_content": "e"}
    assert decode_message(sealed) == Message(Role.OTHER, (Generic("compaction", sealed),))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}'}, ToolCall("c", "f", {"a": 1})),
        ({"type": "custom_tool_call", "call_id": "c", "name": "exec", "input": "js"}, ToolCall("c", "exec", "js")),
        (
            {"type": "local_shell_call", "id": "l", "call_id": "c", "action": {"type": "exec", "command": ["ls"]}},
            ToolCall("c", "local_shell", {"type": "exec", "command": ["ls"]}),
        ),
        (
            {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"]}},
            ToolCall("c", "shell", {"commands": ["ls"]}),
        ),
        (
            {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "delete_file", "path": "a"}},
            ToolCall("c", "apply_patch", {"type": "delete_file", "path": "a"}),
        ),
        (
            {"type": "computer_call", "call_id": "c", "action": {"type": "click"}},
            ToolCall("c", "computer", {"type": "click"}),
        ),
        (
            {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {"q": 1}},
            ToolCall("c", "tool_search", {"q": 1}),
        ),
        (
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "raw"}], "summary": []},
            Reasoning("raw"),
        ),
    ],
)
def test_calls_and_thinking(item: dict[str, Any], expected: Part) -> None:
    """What the client is to run is a tool call, under the tool's own name."""
    assert decode_item(item) == (expected,)


@pytest.mark.parametrize(
    "kind", ["web_search_call", "file_search_call", "code_interpreter_call", "mcp_call", "program"]
)
def test_what_ran_at_the_provider(kind: str) -> None:
    """Call and result are one item, kept as it came."""
    item = {"type": kind, "id": "i"}

    assert decode_item(item) == (ServerToolCall("i", kind.removesuffix("_call"), item),)


def test_pictures_are_hashed() -> None:
    """The base64 of a generated image is not kept."""
    made = decode_item({"type": "image_generation_call", "id": "i", "result": "YWJj", "output_format": "webp"})

    assert made == (
        ServerToolCall("i", "image_generation", {"type": "image_generation_call", "id": "i", "output_format": "webp"}),
        Blob("image", "image/webp", SHA, 3),
    )


def test_results_within_an_answer_are_the_providers() -> None:
    """And what is not known is kept."""
    output = {"type": "shell_call_output", "call_id": "c", "output": []}
    unknown = {"type": "telepathy"}

    assert decode_message({"role": "assistant", "content": [output, unknown]}).parts == (
        ServerToolResult("c", output),
        Generic("telepathy", unknown),
    )


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "input_text", "text": "t"}, Text("t")),
        ({"type": "refusal", "refusal": "no"}, Generic("refusal", "no")),
        ({"type": "input_image", "image_url": "data:image/png;base64,YWJj"}, Blob("image", "image/png", SHA, 3)),
        ({"type": "input_image", "file_id": "f1"}, Uri("image", "file:f1")),
        ({"type": "input_file", "file_url": "https://x/a.pdf"}, Uri("document", "https://x/a.pdf")),
        (
            {"type": "input_file", "file_data": "data:application/pdf;base64,YWJj"},
            Blob("document", "application/pdf", SHA, 3),
        ),
        ({"type": "input_file", "file_data": "YWJj"}, Blob("document", None, SHA, 3)),
        ({"type": "input_audio", "input_audio": {"data": "YWJj", "format": "mp3"}}, Blob("audio", "audio/mp3", SHA, 3)),
        ({"type": "output_audio", "data": "YWJj", "transcript": "hello"}, Text("hello")),
        ({"type": "output_audio", "data": "YWJj"}, Blob("audio", None, SHA, 3)),
        ({"type": "new"}, Generic("new", {"type": "new"})),
    ],
)
def test_parts(part: Any, expected: Part) -> None:
    """Media by hash and size; what is not known is kept as it came."""
    assert decode_part(part) == expected


def test_tools() -> None:
    """Functions, custom tools, and tools of the provider."""
    tools = [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"type": "custom", "name": "exec", "format": {"type": "grammar"}},
        {"type": "mcp", "server_label": "docs", "server_url": "https://x"},
    ]

    assert decode_tools(read_document({"input": [], "tools": tools})) == (
        ToolDefinition("f", "d", {"type": "object"}),
        ToolDefinition("exec", "", {"type": "grammar"}, "custom"),
        ToolDefinition("docs", "", {"server_label": "docs", "server_url": "https://x"}, "mcp"),
    )
