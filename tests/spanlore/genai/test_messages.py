"""Messages, their JSON, and the addresses of their content."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    ToolResult,
    Uri,
    canonical_json,
    content_hash,
    message_from_json,
    message_to_json,
    part_body,
    part_from_json,
    part_to_json,
)

WORDS = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
PARTS: st.SearchStrategy[Part] = st.one_of(
    st.builds(Text, WORDS),
    st.builds(Reasoning, WORDS, st.none() | WORDS),
    st.builds(ToolCall, WORDS, WORDS, JSON),
    st.builds(ToolResult, WORDS, WORDS, st.none() | st.booleans()),
    st.builds(Blob, WORDS, st.none() | WORDS, WORDS, st.integers(0, 2**40)),
    st.builds(Uri, WORDS, WORDS),
    st.builds(ServerToolCall, st.none() | WORDS, WORDS, JSON),
    st.builds(ServerToolResult, st.none() | WORDS, JSON),
    st.builds(Generic, st.just("compaction"), JSON),
)


@settings(max_examples=80, deadline=None)
@given(st.builds(Message, st.sampled_from(Role), st.lists(PARTS, max_size=4).map(tuple), st.none() | WORDS))
def test_messages_survive_json(message: Message) -> None:
    """To JSON, through a serializer, and back is the same message."""
    data = orjson.loads(orjson.dumps(message_to_json(message)))

    assert message_from_json(data) == message


@pytest.mark.parametrize(
    ("data", "part"),
    [
        ({"type": "tool_call_response", "id": "1", "result": "x"}, ToolResult("1", "x")),
        ({"type": "tool_call_response", "id": None, "response": {"b": 1, "a": 2}}, ToolResult("", '{"a":2,"b":1}')),
        ({"type": "brand_new", "k": 1}, Generic("brand_new", {"type": "brand_new", "k": 1})),
        ({"content": "x"}, Generic("None", {"content": "x"})),
    ],
)
def test_foreign_parts_are_kept(data: dict[str, Any], part: Part) -> None:
    """Older spellings are understood, and what is not known is Generic, whole."""
    assert part_from_json(data) == part


def test_an_unknown_role_is_other() -> None:
    """Nothing of the message is lost for it."""
    assert message_from_json({"role": "critic", "parts": [{"type": "text", "content": "x"}, 3]}) == Message(
        Role.OTHER, (Text("x"),)
    )


def test_bodies_are_what_is_worth_storing() -> None:
    """Text as it is, arguments canonical, a result's text; all else as JSON."""
    assert part_body(Text("a")) == part_body(Reasoning("a", "sig")) == part_body(ToolResult("1", "a")) == "a"
    assert part_body(ToolCall("1", "t", {"b": 1, "a": [2]})) == '{"a":[2],"b":1}'
    assert part_body(ToolCall("1", "t", "not json")) == "not json"
    assert part_body(Uri("image", "u")) == canonical_json(part_to_json(Uri("image", "u")))


def test_content_hashes_address_bodies() -> None:
    """32 hex digits of BLAKE2b; equal bodies have equal ones, and lone surrogates are no error."""
    assert content_hash("") == "cae66941d9efbd404e4d88758ea67670"
    assert content_hash("a") != content_hash("b")
    assert content_hash("x\ud800") == content_hash("x?")
