import json
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore_proxy.capture.pieces import START, Place, cut, cut_from

LONG = "x" * 100
DOCUMENT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "é ☃"},
        {"role": "assistant", "content": [{"type": "text", "text": "]}"}]},
    ],
    "system": [{"type": "text", "text": LONG}],
    "tools": [],
    "metadata": {"user_id": LONG},
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)

FLAT = st.integers(-9, 9) | st.text(max_size=80) | st.dictionaries(st.text(max_size=3), st.booleans(), max_size=2)


@pytest.mark.parametrize(
    "body",
    [
        orjson.dumps(DOCUMENT),
        json.dumps(DOCUMENT).encode(),
        json.dumps(DOCUMENT, ensure_ascii=False, indent=2).encode(),
        b" \n" + orjson.dumps(DOCUMENT) + b"\n",
    ],
    ids=["compact", "spaced and escaped", "indented", "with white space around"],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_every_element_is_a_piece(body: bytes, is_known: bool) -> None:
    """However the client writes JSON, list elements and long values are pieces and the whole is the body again."""
    pieces = cut(body, DOCUMENT if is_known else None)
    bare = [piece.lstrip(b", \n") for piece in pieces]
    values = [json.loads(piece) for piece in bare if piece[:1] == b"{" and piece[-1:] == b"}"]

    assert b"".join(pieces) == body
    assert values == [*DOCUMENT["messages"], *DOCUMENT["system"], DOCUMENT["metadata"]]


@settings(max_examples=60)
@given(st.dictionaries(st.text(), VALUES, max_size=6), st.booleans(), st.booleans())
def test_pieces_are_the_body(document: dict[str, Any], is_compact: bool, is_known: bool) -> None:
    """Put together the pieces are the body, byte for byte, whatever it holds."""
    body = orjson.dumps(document) if is_compact else json.dumps(document).encode()
    pieces = cut(body, document if is_known else None)

    assert b"".join(pieces) == body
    assert all(pieces)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1,2]", b'{"a":[1,2', b"\xff\xfe", b'{"a":1', b"nonsense", b"{" * 100_000, b'{"a":' + b"[" * 100_000],
    ids=lambda body: repr(body[:10]),
)
def test_what_is_no_object_stays_whole(body: bytes) -> None:
    """Truncated, nested without end, or no JSON at all: the pieces still are the body."""
    assert b"".join(cut(body)) == body


def test_a_longer_history_has_the_same_pieces() -> None:
    """The next request of a conversation consists of known pieces and the new ones."""
    longer = {**DOCUMENT, "messages": [*DOCUMENT["messages"], {"role": "user", "content": "next"}]}
    new = set(cut(orjson.dumps(longer), longer)) - set(cut(orjson.dumps(DOCUMENT), DOCUMENT))

    assert new == {b',{"role":"user","content":"next"}'}


def test_a_key_twice_is_no_trap() -> None:
    """A parsed document holds the last of two equal keys; the body is scanned then."""
    body = b'{"messages":[{"a":1}],"messages":[{"b":2}]}'

    assert b'{"a":1}' in cut(body, orjson.loads(body))
    assert b"".join(cut(body, orjson.loads(body))) == body


SPELLINGS: dict[str, Callable[[Any], bytes]] = {
    "compact": orjson.dumps,
    "json.dumps": lambda document: json.dumps(document).encode(),
    "no escapes": lambda document: json.dumps(document, ensure_ascii=False).encode(),
    "indented": lambda document: json.dumps(document, indent=1).encode(),
}


def talk(count: int) -> dict[str, Any]:
    """A document whose history is long and is followed by members that change."""
    messages = [{"role": "user", "content": f"{number} é {LONG}"} for number in range(count)]
    return {"model": "m", "messages": messages, "system": [{"text": f"turn {count} {LONG}"}, {"text": "b"}], "n": count}


@pytest.mark.parametrize("write", SPELLINGS.values(), ids=SPELLINGS)
def test_a_longer_body_is_cut_from_where_it_may_differ(write: Callable[[Any], bytes]) -> None:
    """What was settled in the body before is passed over, and the rest has the very pieces of the whole."""
    before, after = write(talk(30)), write(talk(32))
    settled = cut_from(START, before, talk(30)).settled
    assert settled is not None
    done = cut_from(settled, after, talk(32))

    assert after.startswith(before[: settled.position])
    assert done.start == settled
    assert (before[: settled.position] + b"".join(done.pieces)) == after
    assert done.pieces == cut(after, talk(32))[-len(done.pieces) :]
    assert len(done.pieces) < 12
    assert done.settled is not None
    assert done.settled.position > settled.position


def test_a_body_that_does_not_go_on_is_cut_whole() -> None:
    """A place that is none in this body: the pieces are those from the beginning."""
    body = orjson.dumps(talk(30))
    for place in (Place(7, 1, 3), Place(40, 0, 2), Place(len(body), 1, 20), Place(200, 3, 1), Place(900, 9, 9)):
        done = cut_from(place, body, talk(30))

        assert (done.start, b"".join(done.pieces)) == (START, body)


@settings(max_examples=60)
@given(
    st.dictionaries(st.text(max_size=5), FLAT | st.lists(FLAT, min_size=3, max_size=6), max_size=4),
    st.lists(FLAT),
    st.sampled_from(list(SPELLINGS)[:-1]),
)
def test_every_settled_place_can_be_gone_on_from(document: dict[str, Any], new: list[Any], spelling: str) -> None:
    """The same body again, or with one list longer: what stands before the place and the pieces are the body."""
    write = SPELLINGS[spelling]
    body = write(document)
    settled = cut_from(START, body, document).settled
    if settled is None:
        return
    key = list(document)[settled.member]
    for later in (document, {**document, key: [*document[key], *new]}):
        data = write(later)
        done = cut_from(settled, data, later)

        assert done.start == settled
        assert body[: settled.position] + b"".join(done.pieces) == data
