import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.genai import jsontext
from spanlore_proxy.wire.history import Histories

KEY = "messages"
LONG = "x" * 800


def talk(count: int, text: str = LONG) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": [{"type": "text", "text": f"{n} {text}"}]} for n in range(count)]


def body(messages: list[Any], **members: Any) -> bytes:
    """Claude Code's order: what changes with each call comes behind the messages."""
    return orjson.dumps({"model": "m", KEY: messages, "system": [{"type": "text", "text": "be brief"}], **members})


def learnt(*bodies: bytes) -> Histories:
    histories = Histories()
    for data in bodies:
        histories.learn(data, histories.loads(data, KEY), KEY)
    return histories


def shared(one: Any, other: Any) -> int:
    """How many messages are the very same objects."""
    return sum(a is b for a, b in zip(one[KEY], other[KEY], strict=False))


def test_a_history_is_not_parsed_again() -> None:
    """The next request has the very objects of the one before, but for its newest two messages."""
    first, second = body(talk(20)), body(talk(22), stream=True)
    histories = Histories()
    before = histories.loads(first, KEY)
    histories.learn(first, before, KEY)
    after = histories.loads(second, KEY)

    assert shared(before, after) == 18
    assert after == jsontext.loads(second)
    assert list(after) == list(jsontext.loads(second))


def test_a_longer_history_takes_the_place_of_the_shorter() -> None:
    """A conversation is remembered once, however many calls it makes, and by its newest state."""
    histories = learnt(*(body(talk(count)) for count in range(20, 40, 2)))
    again = histories.loads(body(talk(40)), KEY)

    assert len(histories) == 1
    assert shared(again, histories.loads(body(talk(40)), KEY)) == 36


def test_requests_that_are_read_before_others_are_learnt() -> None:
    """Two sessions, and two attempts of one, are read and learnt in any order: what one begins with is not taken for
    what the other does."""
    talks = [body(talk(20)), body(talk(22)), body(talk(20, "y" * 800)), body(talk(24, "y" * 800))]
    for order in ((0, 1, 1, 0, 2, 3, 3, 2), (1, 0, 0, 1, 3, 2, 2, 3), (0, 2, 0, 2, 1, 3, 3, 1)):
        histories = Histories()
        read: dict[int, Any] = {}
        for number in order:
            if number not in read:
                read[number] = histories.loads(talks[number], KEY)
            else:
                histories.learn(talks[number], read[number], KEY)
        longest = [histories.loads(body([*talk(24, text), *talk(2)]), KEY) for text in (LONG, "y" * 800)]

        assert [jsontext.loads(data) for data in talks] == [read[number] for number in range(4)]
        assert [shared(longest[0], read[1]), shared(longest[1], read[3])] == [20, 22]


@pytest.mark.parametrize("at", [0, 5, 17])
def test_an_edited_message_is_seen(at: int) -> None:
    """As long as before, but other bytes: nothing of the old history is believed."""
    histories = learnt(body(talk(20)))
    edited = talk(22)
    edited[at]["content"][0]["text"] = edited[at]["content"][0]["text"].replace("xx", "yy", 1)
    data = body(edited)

    assert histories.loads(data, KEY) == jsontext.loads(data)


def test_a_moved_cache_breakpoint_costs_nothing() -> None:
    """The newest message is written another way once it is no longer the newest."""
    marked = talk(20)
    marked[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    histories = learnt(body(marked))
    plain = [*talk(19), {"role": "user", "content": f"19 {LONG}"}, *talk(2)]
    data = body(plain)
    document = histories.loads(data, KEY)

    assert document == jsontext.loads(data)
    assert shared(document, histories.loads(data, KEY)) == 18


@pytest.mark.parametrize(
    "rest",
    [
        b"",
        b"]",
        b"]}x",
        b",]}",
        b".5]}",
        b"5]}",
        b'"]}',
        b'],"messages":[]}',
        b'],"model":"other","messages":[1]}',
        b'],"model":"other"}',
        b',{"a":"\\ud83d"}]}',
        b',{"a":"\xff"}]}',
        b',{"a":1}]\t,"b" : {"a":[]} } \n',
        b"," + b"[" * 2000,
    ],
)
def test_whatever_follows_is_as_if_it_was_parsed_whole(rest: bytes) -> None:
    """Cut, malformed, keys that stand twice, half characters: the result, or the refusal, is that of the whole text."""
    known = body(talk(20))
    histories = learnt(known)
    end = known.index(b',{"role":"user","content":[{"type":"text","text":"18 ')
    data = known[:end] + rest

    try:
        expected = jsontext.loads(data)
    except ValueError:
        with pytest.raises(ValueError, match=r".*"):
            histories.loads(data, KEY)
    else:
        assert histories.loads(data, KEY) == expected
        assert list(histories.loads(data, KEY)) == list(expected)


SPELLINGS: dict[str, Callable[[Any], bytes]] = {
    "json.dumps": lambda document: json.dumps(document).encode(),
    "no escapes": lambda document: json.dumps(document, ensure_ascii=False).encode(),
    "escapes": lambda document: json.dumps(document, separators=(",", ":")).encode(),
    "indented": lambda document: b"\n" + json.dumps(document, indent=2).encode() + b"\n",
    "large numbers": lambda document: orjson.dumps(document)[:-1] + b',"n":123456789012345678901234567890}',
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_history_in_any_spelling_is_not_parsed_again(spelling: str) -> None:
    """Agents written in Python put a space behind each comma, or escape what is not ASCII."""
    write = SPELLINGS[spelling]
    histories = Histories()
    for count in (20, 22, 30):
        data = write({"model": "é", KEY: talk(count, "é " + LONG), "system": "be brief"})
        before = histories.loads(data, KEY)
        histories.learn(data, before, KEY)

    after = histories.loads(write({"model": "é", KEY: talk(32, "é " + LONG), "system": "be brief"}), KEY)

    assert len(histories) == 1
    assert shared(before, after) == 28
    assert after == jsontext.loads(write({"model": "é", KEY: talk(32, "é " + LONG), "system": "be brief"}))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(["model", KEY, "system", "tools", ""])
MESSAGES = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3) | VALUES, max_size=6)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.lists(st.tuples(KEYS, VALUES)), st.integers(0, 6), MESSAGES, st.booleans()), max_size=5))
def test_always_what_parsing_gives(requests: list[tuple[list[tuple[str, Any]], int, list[Any], bool]]) -> None:
    """In any order of bodies, with members before, behind and twice, compact or not: equal to the parser's own."""
    histories, so_far = Histories(), list[Any](talk(3, "é" * 3000))
    for members, kept, new, is_compact in requests:
        so_far = [*so_far[: 3 + kept], *new]
        half = len(members) // 2
        dumps = (lambda value: orjson.dumps(value).decode()) if is_compact else json.dumps
        pairs = [*members[:half], (KEY, so_far), *members[half:]]
        data = ("{" + ",".join(f"{dumps(key)}:{dumps(value)}" for key, value in pairs) + "}").encode()
        document = histories.loads(data, KEY)
        histories.learn(data, document, KEY)

        assert orjson.dumps(document) == orjson.dumps(jsontext.loads(data))


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b'{"messages":7}' + b" " * 5000,
        body(talk(3, "short")),
        body([*([1] * 3000), *talk(2)]),
        f'{{"messages": {json.dumps(talk(20))}, "messages": {json.dumps(talk(21))}}}'.encode(),
        f'{{"messages": {json.dumps(talk(20))}, "messages": {json.dumps(talk(20))}}}'.encode(),
    ],
    ids=["no object", "no list", "short", "no message", "the key twice", "twice the same"],
)
def test_what_cannot_be_proven_is_not_remembered(data: bytes) -> None:
    """Only bodies with long histories of objects, written once, are worth it and safe."""
    assert len(learnt(data)) == 0


def test_memory_is_bounded() -> None:
    """By bytes: the conversations not used for longest go first, and one body alone may not push out all others."""
    talks = [body(talk(20, f"conversation {n} " + LONG)) for n in range(4)]
    histories = Histories(max_bytes=3 * len(talks[0]))
    for data in [*talks, body(talk(60))]:
        histories.learn(data, histories.loads(data, KEY), KEY)

    assert len(histories) == 3
    assert [shared(histories.loads(data, KEY), histories.loads(data, KEY)) for data in talks] == [0, 18, 18, 18]


def test_a_shorter_request_does_not_forget_the_longer() -> None:
    """A retry or a branch from an earlier message leaves what is known of the longer one."""
    histories = learnt(body(talk(30)), body(talk(20)))
    data = body(talk(32))

    assert shared(histories.loads(data, KEY), histories.loads(data, KEY)) == 28
