import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore_proxy.capture.pieces import cut

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
