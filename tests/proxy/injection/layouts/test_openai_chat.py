"""Chat Completions: the last leading system message, and the failing tool's own content."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.injection.layouts.openai_chat import OPENAI_CHAT
from spanlore_proxy.injection.offsets import OffsetError
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert, without_insertions
from spanlore_proxy.wire.openai_chat import parse_request
from support.agent_talks import ChatTalk
from support.json_bodies import JSON, STYLES, TEXT, shuffled, spell

PART = st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}, optional={"cache_control": JSON})
CONTENT = TEXT | st.lists(PART, max_size=3)
LEADING = st.fixed_dictionaries({"role": st.sampled_from(["system", "developer"]), "content": CONTENT})
TOOL = st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": TEXT, "content": CONTENT}, optional={"x": JSON})
OTHER = st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": CONTENT | st.none()})


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """System messages at the beginning or not, a conversation, perhaps a system message at the end."""
    leading = draw(st.lists(LEADING, max_size=2))
    talk = draw(st.lists(TOOL | OTHER, min_size=1, max_size=4))
    last = draw(st.lists(LEADING, max_size=1))
    return draw(shuffled({"messages": [*leading, *talk, *last]}))


@given(documents(), STYLES, st.lists(TEXT.filter(bool), min_size=1, max_size=4), st.data())
def test_an_insertion_changes_no_client_byte(
    document: dict[str, Any], style: str, texts: list[str], data: st.DataObject
) -> None:
    """Taking the insertions out gives the client's body; parsing gives its document with exactly the texts added."""
    body = spell(document, style)
    request = parse_request(body)
    tools = [
        index
        for index, message in enumerate(request.raw_messages)
        if message["role"] == "tool" or OPENAI_CHAT.takes_prompt_hint(request, index)
    ]
    additions = [Addition(data.draw(st.sampled_from([SYSTEM, *tools])), text) for text in texts]
    rewritten = insert(body, request, additions)

    assert without_insertions(rewritten.body, rewritten.insertions) == body
    assert orjson.loads(rewritten.body) == expected(orjson.loads(body), additions)


def expected(document: dict[str, Any], additions: list[Addition]) -> dict[str, Any]:
    """What the additions mean, done on the parsed document."""
    messages = document["messages"]
    leading = 0
    while messages[leading]["role"] in ("system", "developer"):
        leading += 1
    texts = [addition.text for addition in additions if addition.index == SYSTEM]
    ends_in_text = {index for index, message in enumerate(messages) if _ends_in_text(message)}
    for addition in additions:
        if addition.index != SYSTEM:
            at = leading + addition.index
            (extend_last if at in ends_in_text else extend)(messages[at], addition.text)
        elif leading:
            extend(messages[leading - 1], addition.text)
    if texts and not leading:
        messages.insert(0, {"role": "system", "content": "\n\n".join(texts)})
    return document


def extend(message: dict[str, Any], text: str) -> None:
    """More text at the end of a message."""
    content = message["content"]
    if isinstance(content, list):
        content.append({"type": "text", "text": text})
    else:
        message["content"] = f"{content}\n\n{text}" if content else text


def extend_last(message: dict[str, Any], text: str) -> None:
    """More of the last text of a list, as it would be of the text that the list stands for."""
    last = message["content"][-1]
    last["text"] += f"\n\n{text}" if last["text"] else text


def _ends_in_text(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and bool(content) and content[-1].get("type") == "text"


@pytest.mark.parametrize("role", ["tool", "user"])
def test_both_forms_of_a_message_are_one_upstream(role: str) -> None:
    """Sent as a list while it is the newest and marked, and as a text later: the same text with the same hint."""
    message = {"role": role, "tool_call_id": "c", "content": "failed"}
    marked = {"type": "text", "text": "failed", "cache_control": {"type": "ephemeral"}}
    bodies = [orjson.dumps({"messages": [one]}) for one in (message, {**message, "content": [marked]})]
    texts, lists = [
        orjson.loads(insert(body, parse_request(body), [Addition(0, "hint")]).body)["messages"][0]["content"]
        for body in bodies
    ]

    assert texts == lists[0]["text"] == "failed\n\nhint"
    assert lists == [{**marked, "text": texts}]


def test_an_image_is_followed_by_a_text_of_its_own() -> None:
    """There is no text at the end to go on in."""
    content = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    body = orjson.dumps({"messages": [{"role": "user", "content": content}]})
    [message] = orjson.loads(insert(body, parse_request(body), [Addition(0, "hint")]).body)["messages"]

    assert message["content"] == [*content, {"type": "text", "text": "hint"}]


def test_a_second_system_message_at_the_end_is_left_alone() -> None:
    """Aider repeats its rules behind everything; the block stands in the first, where nothing moves."""
    talk = ChatTalk(last=[{"role": "system", "content": "rules"}])
    body = talk.ask("hi")
    messages = orjson.loads(insert(body, parse_request(body), [Addition(SYSTEM, "x")]).body)["messages"]

    assert messages == [{"role": "system", "content": "You are an agent.\n\nx"}, *talk.messages, *talk.last]


def test_a_legacy_functions_result_takes_a_hint() -> None:
    """It has no call id on the wire; its place is found all the same."""
    body = orjson.dumps(
        {
            "messages": [
                {"role": "system", "content": "s"},
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "out"},
            ]
        }
    )
    request = parse_request(body)

    assert list(OPENAI_CHAT.result_ids(request.raw_messages[1]))
    assert orjson.loads(insert(body, request, [Addition(1, "x")]).body)["messages"][2]["content"] == "out\n\nx"


@pytest.mark.parametrize("content", [None, {}, 5])
def test_a_content_of_another_shape_is_an_error(content: object) -> None:
    """Neither a system message nor a tool's answer is given another form; such an answer is not looked at either."""
    tool = {"role": "tool", "tool_call_id": "c", "content": content}
    body = orjson.dumps({"messages": [{"role": "system", "content": content}, tool]})

    assert not list(OPENAI_CHAT.result_ids(tool))
    for index in (SYSTEM, 0):
        with pytest.raises(OffsetError):
            insert(body, parse_request(body), [Addition(index, "x")])


@pytest.mark.parametrize("index", [0, 7])
def test_a_hint_beside_no_result_is_an_error(index: int) -> None:
    """Only a tool's message, or a user's, is added to."""
    talk = ChatTalk()
    talk.say("hello")
    body = talk.body()

    with pytest.raises(OffsetError):
        insert(body, parse_request(body), [Addition(index, "x")])


def test_nothing_is_made_up_for_models_without_a_system_role() -> None:
    """Gemma's chat template refuses a system message; where the client sends one it may be extended."""
    talk = ChatTalk(system=None)
    talk.ask("hi")
    for model, system, refusal in (("gemma-3-27b-it", None, "no_system_role"), ("gemma-3", "s", ""), ("m", None, "")):
        talk.system = system
        request = parse_request(orjson.dumps({**talk.document(), "model": model}))

        assert OPENAI_CHAT.refusal(request) == refusal


def test_no_messages_at_all() -> None:
    """An empty conversation gets the system message alone."""
    body = b'{"messages":[]}'

    assert orjson.loads(insert(body, parse_request(body), [Addition(SYSTEM, "x")]).body) == {
        "messages": [{"role": "system", "content": "x"}]
    }
