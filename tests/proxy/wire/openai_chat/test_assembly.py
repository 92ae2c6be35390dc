"""Deltas become the message again."""

from __future__ import annotations

from typing import Any

from spanlore_proxy.wire.openai_chat.assembly import ChoiceAssembly


def grown(*deltas: dict[str, Any]) -> dict[str, Any]:
    choice = ChoiceAssembly()
    for delta in deltas:
        assert choice.add(delta) == []
    return choice.message()


def call(index: int | None = None, id_: str = "", name: str = "", arguments: Any = "") -> dict[str, Any]:
    made: dict[str, Any] = {"function": {"name": name, "arguments": arguments}}
    if index is not None:
        made["index"] = index
    return {"tool_calls": [{**made, "id": id_} if id_ else made]}


def test_calls_grow_by_their_index() -> None:
    """Name and id come once, arguments in pieces, two calls mixed."""
    message = grown(call(0, "a", "f", '{"x"'), call(1, "b", "g"), call(0, arguments=":1}"), call(1, arguments="{}"))

    assert message["tool_calls"] == [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]


def test_gateways_that_do_not_count() -> None:
    """Every call with index 0, or with none, or with neither index nor id; arguments as an object."""
    same = grown(call(0, "a", "f", "{}"), call(0, "b", "f", "{}"))
    none = grown(call(None, "a", "f", '{"x"'), call(None, "a", "", ":1}"), call(None, "b", "g", {"y": 2}))
    bare = grown(call(None, "", "f", "{}"), call(None, "", "g", "{}"))

    assert [one["id"] for one in same["tool_calls"]] == ["a", "b"]
    assert [one["function"]["arguments"] for one in none["tool_calls"]] == ['{"x":1}', {"y": 2}]
    assert [one["function"]["name"] for one in bare["tool_calls"]] == ["f", "g"]


def test_lists_of_parts_continue() -> None:
    """Mistral: thinking in pieces, then text in pieces, then a plain string."""
    thought = [{"type": "text", "text": "a"}], [{"type": "text", "text": "b"}]
    message = grown(
        {"content": [{"type": "thinking", "thinking": thought[0]}]},
        {"content": [{"type": "thinking", "thinking": thought[1]}]},
        {"content": [{"type": "text", "text": "c"}]},
        {"content": [{"type": "text", "text": "d"}]},
        {"content": "e"},
    )

    assert message["content"] == [
        {"type": "thinking", "thinking": [*thought[0], *thought[1]]},
        {"type": "text", "text": "cd"},
        {"type": "text", "text": "e"},
    ]


def test_what_is_not_known_is_named() -> None:
    """And costs nothing else."""
    choice = ChoiceAssembly()

    assert choice.add({"content": "x", "hologram": 1}) == ["hologram"]
    assert choice.message() == {"role": "assistant", "content": "x"}
