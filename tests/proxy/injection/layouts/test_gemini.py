"""Gemini: the last part of the system instruction, and a part behind the functionResponse."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.injection.layouts.gemini import GEMINI
from spanlore_proxy.injection.offsets import OffsetError
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert, without_insertions
from spanlore_proxy.wire.gemini import parse_request
from support.agent_talks import GeminiTalk
from support.json_bodies import JSON, STYLES, TEXT, shuffled, spell

PART = st.fixed_dictionaries({"text": TEXT}) | st.fixed_dictionaries(
    {"functionResponse": st.fixed_dictionaries({"name": TEXT, "response": st.dictionaries(TEXT, JSON, max_size=2)})}
)
CONTENT = st.fixed_dictionaries({"role": st.sampled_from(["user", "model"]), "parts": st.lists(PART, max_size=3)})
INSTRUCTION = st.fixed_dictionaries({"parts": st.lists(st.fixed_dictionaries({"text": TEXT}), max_size=2)}) | TEXT
NAMES = st.sampled_from(["systemInstruction", "system_instruction"])


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A request with an instruction in either spelling or without one; in Code Assist's envelope or not."""
    members: dict[str, Any] = {"contents": draw(st.lists(CONTENT, min_size=1, max_size=4))}
    if draw(st.booleans()):
        members[draw(NAMES)] = draw(INSTRUCTION)
    inner = draw(shuffled(members))
    return draw(shuffled({"model": "m", "request": inner})) if draw(st.booleans()) else inner


@given(documents(), STYLES, st.lists(st.tuples(st.integers(-1, 3), TEXT.filter(bool)), max_size=5))
def test_an_insertion_changes_no_client_byte(
    document: dict[str, Any], style: str, wanted: list[tuple[int, str]]
) -> None:
    """Taking the insertions out gives the client's body; parsing gives its document with exactly the parts added."""
    body = spell(document, style)
    contents = document.get("request", document)["contents"]
    additions = [Addition(index, text) for index, text in wanted if index < len(contents)]
    rewritten = insert(body, parse_request(body), additions)

    assert without_insertions(rewritten.body, rewritten.insertions) == body
    assert orjson.loads(rewritten.body) == expected(orjson.loads(body), additions)


def expected(document: dict[str, Any], additions: list[Addition]) -> dict[str, Any]:
    """What the additions mean, done on the parsed document."""
    inner = document.get("request", document)
    key = "system_instruction" if "system_instruction" in inner else "systemInstruction"
    for addition in additions:
        part = {"text": addition.text}
        if addition.index != SYSTEM:
            inner["contents"][addition.index]["parts"].append(part)
        elif isinstance(given := inner.setdefault(key, {"parts": []}), str):
            inner[key] = f"{given}\n\n{addition.text}" if given else addition.text
        else:
            given["parts"].append(part)
    return document


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_hint_stands_behind_the_function_response(is_nested: bool) -> None:
    """In the same content, with and without Code Assist's envelope."""
    talk = GeminiTalk(is_nested)
    talk.ask("run it")
    body = talk.fail()
    document = orjson.loads(insert(body, parse_request(body), [Addition(2, "x")]).body)
    parts = document.get("request", document)["contents"][2]["parts"]

    assert parts == [talk.contents[2]["parts"][0], {"text": "x"}]


@pytest.mark.parametrize(
    ("extra", "model", "system", "refusal"),
    [
        ({}, "gemini-x", None, ""),
        ({"cachedContent": "cachedContents/1"}, "gemini-x", None, "cached_content"),
        ({"cached_content": "cachedContents/1"}, "gemini-x", None, "cached_content"),
        ({}, "gemma-3-27b-it", None, "no_system_role"),
        ({}, "gemma-3-27b-it", {"parts": [{"text": "s"}]}, ""),
        ({"contents": {"parts": []}}, "gemini-x", None, "dialect"),
    ],
)
def test_what_the_api_would_not_take_is_refused(extra: dict[str, Any], model: str, system: Any, refusal: str) -> None:
    """An instruction beside cached content, one for a model that takes none; and a body of another form."""
    talk = GeminiTalk(is_nested=True, system=system, extra=extra)
    talk.ask("hi")
    request = parse_request(orjson.dumps({**talk.document(), "model": model}))

    assert GEMINI.refusal(request) == refusal


def test_the_interactions_api_is_not_rewritten() -> None:
    """Its body has another form."""
    assert GEMINI.refusal(parse_request(b'{"model":"m","input":"hi","system_instruction":"s"}')) == "dialect"


@pytest.mark.parametrize(
    "system", [{"systemInstruction": None}, {"systemInstruction": {"text": "s"}}, {"systemInstruction": 5}]
)
def test_an_instruction_of_no_known_shape_is_an_error(system: dict[str, Any]) -> None:
    """What has no parts and is no text is not rewritten."""
    body = orjson.dumps({"contents": [], **system})

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(SYSTEM, "x")])


def test_an_instruction_in_both_spellings_is_an_error() -> None:
    """Which of them counts is for the receiver to say."""
    body = b'{"contents":[],"systemInstruction":{"parts":[]},"system_instruction":{"parts":[]}}'

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(SYSTEM, "x")])


@pytest.mark.parametrize("index", [0, 7])
def test_a_content_without_parts_is_an_error(index: int) -> None:
    """There is nothing to stand beside."""
    body = b'{"contents":[{"role":"user","parts":{"text":"x"}}]}'

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(index, "x")])
