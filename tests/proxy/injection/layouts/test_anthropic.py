"""Anthropic Messages: the last system block, and a block behind the results of a message."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.injection.layouts.anthropic import ANTHROPIC
from spanlore_proxy.injection.offsets import OffsetError
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert, without_insertions
from spanlore_proxy.wire.anthropic import parse_request
from support.json_bodies import JSON, STYLES, TEXT, shuffled, spell

BLOCK = st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}, optional={"cache_control": JSON, "system": JSON})
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(BLOCK, max_size=3)}, optional={"extra": JSON}
)
SYSTEM_PROMPT = TEXT | st.lists(BLOCK, max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A request's document, its members in any order, with a system prompt or without."""
    members: dict[str, Any] = {"messages": draw(st.lists(MESSAGE, min_size=1, max_size=4))}
    if draw(st.booleans()):
        members["system"] = draw(SYSTEM_PROMPT)
    return draw(shuffled(members))


@given(documents(), STYLES, st.lists(st.tuples(st.integers(-1, 3), TEXT.filter(bool)), max_size=5))
def test_an_insertion_changes_no_client_byte(
    document: dict[str, Any], style: str, wanted: list[tuple[int, str]]
) -> None:
    """Taking the insertions out gives the client's body; parsing gives its document with exactly the blocks added."""
    body = spell(document, style)
    additions = [Addition(index, text) for index, text in wanted if index < len(document["messages"])]
    rewritten = insert(body, parse_request(body), additions)

    assert without_insertions(rewritten.body, rewritten.insertions) == body
    assert orjson.loads(rewritten.body) == expected(orjson.loads(body), additions)


def expected(document: dict[str, Any], additions: list[Addition]) -> dict[str, Any]:
    """What the additions mean, done on the parsed document."""
    for addition in additions:
        block = {"type": "text", "text": addition.text}
        if addition.index != SYSTEM:
            document["messages"][addition.index]["content"].append(block)
        elif isinstance(system := document.setdefault("system", []), str):
            document["system"] = f"{system}\n\n{addition.text}" if system else addition.text
        else:
            system.append(block)
    return document


@pytest.mark.parametrize("system", [None, 5, {}, True])
def test_a_system_prompt_of_no_known_shape_is_an_error(system: object) -> None:
    """What the API does not take is not rewritten."""
    body = orjson.dumps({"messages": [], "system": system})

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(SYSTEM, "x")])


@pytest.mark.parametrize("content", ["", None, {}])
def test_a_message_without_blocks_is_an_error(content: object) -> None:
    """A hint stands behind something."""
    body = orjson.dumps({"messages": [{"role": "user", "content": content}]})

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(0, "x")])


@given(TEXT.filter(bool), STYLES, TEXT.filter(bool))
def test_both_forms_of_a_message_leave_as_the_same(said: str, style: str, text: str) -> None:
    """A prompt sent as a string, and later as a block, is the same message upstream; the client's bytes stay."""
    as_text = spell({"messages": [{"role": "user", "content": said}]}, style)
    as_block = orjson.dumps({"messages": [{"role": "user", "content": [{"type": "text", "text": said}]}]})
    first, later = (insert(body, parse_request(body), [Addition(0, text)]) for body in (as_text, as_block))

    assert without_insertions(first.body, first.insertions) == as_text
    assert orjson.loads(first.body) == orjson.loads(later.body)


def test_only_a_users_message_takes_a_prompt_hint() -> None:
    """Neither the model's nor an empty one does."""
    messages = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": []},
    ]
    request = parse_request(orjson.dumps({"messages": messages}))

    assert [ANTHROPIC.takes_prompt_hint(request, index) for index in range(3)] == [True, False, False]
