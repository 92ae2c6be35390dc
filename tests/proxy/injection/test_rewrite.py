"""The body is the client's body with insertions, and nothing else."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.injection.offsets import SYSTEM, OffsetError
from spanlore_proxy.injection.rewrite import Addition, Insertion, insert, without_insertions
from spanlore_proxy.wire.anthropic import parse_request

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
BLOCK = st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}, optional={"cache_control": JSON, "system": JSON})
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant"]), "content": st.lists(BLOCK, max_size=3)}, optional={"extra": JSON}
)
SYSTEM_PROMPT = TEXT | st.lists(BLOCK, max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A request's document, its members in any order, with a system prompt or without."""
    members = {
        "messages": draw(st.lists(MESSAGE, min_size=1, max_size=4)),
        **draw(st.dictionaries(TEXT, JSON, max_size=3)),
    }
    if draw(st.booleans()):
        members["system"] = draw(SYSTEM_PROMPT)
    members["messages"] = members["messages"] if isinstance(members["messages"], list) else []
    return {key: members[key] for key in draw(st.permutations(list(members)))}


def spell(document: dict[str, Any], style: str) -> bytes:
    """The document as some client writes it."""
    match style:
        case "compact":
            return orjson.dumps(document)
        case "python":
            return json.dumps(document).encode()
        case "pretty":
            return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"
    raise AssertionError(style)


@given(
    documents(),
    st.sampled_from(["compact", "python", "pretty"]),
    st.lists(st.tuples(st.integers(-1, 3), TEXT.filter(bool)), max_size=5),
)
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


def test_nothing_to_add_is_the_same_object() -> None:
    """Without additions the client's own bytes are passed on, not a copy."""
    body = b'{"messages":[]}'

    assert insert(body, parse_request(body), []).body is body


def test_insertion_has_no_cache_control_and_moves_none() -> None:
    """The client's breakpoint stays where it was; ours comes after it, without one."""
    body = b'{"messages":[],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}'
    rewritten = insert(body, parse_request(body), [Addition(SYSTEM, "x")])

    assert rewritten.insertions == (Insertion(len(body) - 2, b',{"type":"text","text":"x"}'),)
    assert rewritten.body.count(b"cache_control") == 1


@pytest.mark.parametrize("system", [None, 5, {}, True])
def test_a_system_prompt_of_no_known_shape_is_an_error(system: object) -> None:
    """What the API does not take is not rewritten."""
    body = orjson.dumps({"messages": [], "system": system})

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(SYSTEM, "x")])


@pytest.mark.parametrize("content", ["text", None, {}])
def test_a_message_without_blocks_is_an_error(content: object) -> None:
    """A hint stands beside a tool result, and there is none in a plain string."""
    body = orjson.dumps({"messages": [{"role": "user", "content": content}]})

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(0, "x")])


def test_half_characters_of_the_client_survive() -> None:
    """A lone surrogate escape, which orjson can't read, is neither lost nor changed."""
    body = b'{"messages":[],"system":"cut \\ud83d here"}'
    rewritten = insert(body, parse_request(body), [Addition(SYSTEM, "x")])

    assert rewritten.body == b'{"messages":[],"system":"cut \\ud83d here\\n\\nx"}'
