"""Responses: a developer item behind the client's preamble, and the output of the failing call."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.injection.layouts.openai_responses import OPENAI_RESPONSES
from spanlore_proxy.injection.offsets import OffsetError
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert, without_insertions
from spanlore_proxy.wire.openai_responses import parse_request
from support.agent_talks import ResponsesTalk
from support.json_bodies import JSON, STYLES, TEXT, shuffled, spell

PART = st.fixed_dictionaries({"type": st.just("input_text"), "text": TEXT})
CONTENT = TEXT | st.lists(PART, max_size=3)
MESSAGE = st.just("message")
PREAMBLE = st.fixed_dictionaries(
    {"role": st.sampled_from(["developer", "system"]), "content": CONTENT}, optional={"type": MESSAGE}
) | st.fixed_dictionaries({"type": st.just("additional_tools"), "tools": st.just([])})
USER = st.fixed_dictionaries({"role": st.just("user"), "content": CONTENT}, optional={"type": MESSAGE})
OUTPUT = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["function_call_output", "custom_tool_call_output"]),
        "call_id": TEXT.filter(bool),
        "output": CONTENT,
    },
    optional={"x": JSON},
)
OTHER = st.fixed_dictionaries({"type": st.sampled_from(["reasoning", "function_call"]), "x": JSON}) | PREAMBLE


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A preamble or none, then a conversation; or just a text."""
    preamble = draw(st.lists(PREAMBLE, max_size=3))
    talk = draw(st.lists(USER | OUTPUT | OTHER, max_size=5))
    items = [*preamble, *([draw(USER), *talk] if talk else [])]
    text: Any = draw(TEXT.filter(bool))
    return draw(shuffled({"input": items or text}))


@given(documents(), STYLES, st.lists(TEXT.filter(bool), min_size=1, max_size=4), st.data())
def test_an_insertion_changes_no_client_byte(
    document: dict[str, Any], style: str, texts: list[str], data: st.DataObject
) -> None:
    """Taking the insertions out gives the client's body; parsing gives its document with exactly the texts added."""
    body = spell(document, style)
    request = parse_request(body)
    outputs = [index for index, raw in enumerate(request.raw_messages) if list(OPENAI_RESPONSES.result_ids(raw))]
    additions = [Addition(data.draw(st.sampled_from([SYSTEM, *outputs])), text) for text in texts]
    rewritten = insert(body, request, additions)

    assert without_insertions(rewritten.body, rewritten.insertions) == body
    assert orjson.loads(rewritten.body) == expected(orjson.loads(body), outputs, additions)


def expected(document: dict[str, Any], outputs: list[int], additions: list[Addition]) -> dict[str, Any]:
    """What the additions mean, done on the parsed document."""
    items = document["input"]
    if isinstance(items, str):
        items = document["input"] = [{"role": "user", "content": items}]
    results = [item for item in items if str(item.get("type")).endswith("_output")]
    for addition in additions:
        if addition.index != SYSTEM:
            extend(results[outputs.index(addition.index)], addition.text)
    texts = [addition.text for addition in additions if addition.index == SYSTEM]
    if texts:
        content = [{"type": "input_text", "text": text} for text in texts]
        items.insert(first_of_talk(items), {"type": "message", "role": "developer", "content": content})
    return document


def first_of_talk(items: list[dict[str, Any]]) -> int:
    """Where the client's preamble ends."""
    is_preamble = [
        item.get("type") == "additional_tools" or item.get("role") in ("developer", "system") for item in items
    ]
    return [*is_preamble, False].index(False)


def extend(item: dict[str, Any], text: str) -> None:
    """More text at the end of an output."""
    if isinstance(item["output"], list):
        item["output"].append({"type": "input_text", "text": text})
    else:
        item["output"] = f"{item['output']}\n\n{text}" if item["output"] else text


def test_instructions_are_never_touched() -> None:
    """A backend may know what its client's instructions are."""
    talk = ResponsesTalk(preamble=[], extra={"instructions": "You are …"})
    body = talk.ask("hi")
    document = orjson.loads(insert(body, parse_request(body), [Addition(SYSTEM, "x")]).body)

    assert document["instructions"] == "You are …"
    assert [item["role"] for item in document["input"]] == ["developer", "user"]


def test_parallel_outputs_stay_side_by_side() -> None:
    """The hint is inside of its output, and no item comes between the results."""
    talk = ResponsesTalk()
    talk.ask("run both")
    talk.fail()
    body = talk.fail()
    request = parse_request(body)
    document = orjson.loads(insert(body, request, [Addition(len(request.raw_messages) - 1, "x")]).body)

    assert len(document["input"]) == len(orjson.loads(body)["input"])
    assert document["input"][-1]["output"].endswith("\n\nx")


@pytest.mark.parametrize("kind", ["local_shell_call_output", "shell_call_output", "apply_patch_call_output"])
def test_outputs_of_a_prescribed_form_take_no_hint(kind: str) -> None:
    """What the API reads itself is left as it is."""
    item = {"type": kind, "call_id": "c", "output": "text"}
    body = orjson.dumps({"input": [item]})

    assert not list(OPENAI_RESPONSES.result_ids(item))
    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(0, "x")])


@pytest.mark.parametrize(
    ("document", "refusal"),
    [
        ({"input": []}, "no_input"),
        ({"input": ""}, "no_input"),
        ({"prompt": {"id": "p"}}, "no_input"),
        ({"input": "hi"}, ""),
        ({"input": [{"role": "user", "content": "hi"}]}, ""),
    ],
)
def test_without_an_input_there_is_nothing_to_add_to(document: dict[str, Any], refusal: str) -> None:
    """A connection that is warmed up, or a prompt that the provider keeps."""
    assert OPENAI_RESPONSES.refusal(parse_request(orjson.dumps(document))) == refusal


@pytest.mark.parametrize(
    ("more", "expected"), [({}, False), ({"previous_response_id": "r"}, True), ({"conversation": "c"}, True)]
)
def test_a_history_that_the_provider_holds_is_told(more: dict[str, str], expected: bool) -> None:
    """Only what is new is on the wire then."""
    request = parse_request(orjson.dumps({"input": "hi", "previous_response_id": None, **more}))

    assert OPENAI_RESPONSES.is_continued(request) is expected


def test_the_newest_compaction_names_the_epoch() -> None:
    """Its content is encrypted; another one is another epoch, and without one there is none."""
    talk = ResponsesTalk()
    none = OPENAI_RESPONSES.epoch(parse_request(talk.ask("hi")))
    talk.items.append({"type": "compaction", "encrypted_content": "first"})
    first = OPENAI_RESPONSES.epoch(parse_request(talk.ask("more")))
    later = OPENAI_RESPONSES.epoch(parse_request(talk.ask("and more")))
    talk.items.append({"type": "compaction", "encrypted_content": "second"})
    second = OPENAI_RESPONSES.epoch(parse_request(talk.body()))

    assert none == ""
    assert first == later != second
    assert first and second
