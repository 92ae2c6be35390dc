"""The identity of a Gemini message."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.gemini.digest import dump, message_digest, normal
from spanlore_proxy.wire.gemini.fold import fold_response
from spanlore_proxy.wire.gemini.request import parse_request
from support import recordings


def said(*parts: Any, role: str = "assistant") -> bytes:
    return message_digest({"role": role, "content": list(parts)})


@pytest.mark.parametrize(
    "name", ["array_tool_no_id", "array_tool_second_step", "json_parallel_tools", "json_thought_signature"]
)
def test_an_answer_and_its_echo(name: str) -> None:
    """In the next request of the same client stands the answer, under the same digest."""
    recording = recordings.of("gemini", name)
    before = parse_request(recordings.request_of("gemini", name))
    after = parse_request(recordings.request_of("gemini", f"{name}.next"))
    raw = fold_response(recording.body, "", 200, False).raw_output
    shared = len(before.raw_messages)

    assert list(map(message_digest, after.raw_messages[:shared])) == list(map(message_digest, before.raw_messages))
    assert raw is not None and message_digest(after.raw_messages[shared]) == message_digest(raw)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"text": "a"}, {"text": "b"}], [{"text": "ab"}]),
        ([{"text": "a", "thoughtSignature": "x"}], [{"text": " a\n"}]),
        ([{"text": "hm", "thought": True}, {"text": "a"}], [{"text": "a"}, {"text": ""}]),
        ([{"functionCall": {"name": "f", "args": {"n": 1.0}}}], [{"functionCall": {"name": "f", "args": {"n": 1}}}]),
        ([{"functionCall": {"name": "f", "id": "1"}, "id": "1"}], [{"functionCall": {"name": "f", "args": {}}}]),
    ],
)
def test_two_forms_of_one_message(one: list[Any], other: list[Any]) -> None:
    """Joined texts, dropped thoughts, signatures and ids, numbers written anew."""
    assert said(*one) == said(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([{"text": "a"}], [{"text": "b"}]),
        ([{"functionCall": {"name": "f"}}], [{"functionCall": {"name": "g"}}]),
        ([{"functionResponse": {"name": "f", "response": {"output": "1"}}}],
         [{"functionResponse": {"name": "f", "response": {"output": "2"}}}]),
        ([{"inlineData": {"data": "YQ=="}}], [{"inlineData": {"data": "Yg=="}}]),
    ],
)  # fmt: skip
def test_what_makes_a_difference(one: list[Any], other: list[Any]) -> None:
    """Text, names, arguments, results, media."""
    assert said(*one) != said(*other)


def test_a_persons_words_are_not_joined() -> None:
    """Only the model's text is trimmed and joined."""
    assert said({"text": "a"}, {"text": "b"}, role="user") != said({"text": "ab"}, role="user")


def test_depth_is_no_danger() -> None:
    """A value that cannot be written has a digest all the same."""
    deep: Any = 0
    for _ in range(400):
        deep = [deep]

    assert dump(deep) == b"nested too deep"
    assert normal({"a": [2.0, 2.5, True]}) == {"a": [2, 2.5, True]}
