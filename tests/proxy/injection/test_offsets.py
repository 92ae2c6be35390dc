"""Where something may be inserted is proven, or nothing is."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.injection import offsets
from spanlore_proxy.injection.offsets import OffsetError, Side, Spot, find_offsets

SYSTEM = Spot(("system",))
MESSAGE = Spot(("messages", 1, "content"))
BOTH = (SYSTEM, MESSAGE)
DOCUMENT: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "é"}], "extra": [1, {}]},
        {"role": "assistant", "content": []},
    ],
    "system": [{"type": "text", "text": "s"}],
    "tools": [{"name": "t", "system": [{"type": "text", "text": "s"}]}],
    "stream": True,
}
SPELLINGS = {
    "compact": orjson.dumps(DOCUMENT),
    "newline": orjson.dumps(DOCUMENT) + b" \r\n\t",
    "python": json.dumps(DOCUMENT).encode(),
    "ascii": json.dumps(DOCUMENT, separators=(",", ":")).encode(),
    "pretty": json.dumps(DOCUMENT, indent=2, ensure_ascii=False).encode(),
    "bom": b"\xef\xbb\xbf" + orjson.dumps(DOCUMENT),
    "slashes": orjson.dumps(DOCUMENT).replace(b'"text":"s"', b'"text":"\\u0073"'),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_places_stand_before_the_closing_brackets(spelling: str) -> None:
    """However the body is written, the place is right behind the last block of the system prompt and of the message."""
    body = SPELLINGS[spelling]
    places = find_offsets(body, DOCUMENT, BOTH)
    marked = body[: places[SYSTEM]] + b"@" + body[places[SYSTEM] :]
    marked = marked[: places[MESSAGE]] + b"#" + marked[places[MESSAGE] :]
    flat = (
        b"".join(marked.replace(b"\\u0073", b"s").split())
        .replace(b"\\u00e9", "é".encode())
        .removeprefix(b"\xef\xbb\xbf")
    )

    assert flat.count(b"@") == flat.count(b"#") == 1
    assert b'"system":[{"type":"text","text":"s"}@],"tools"' in flat
    assert '{"role":"user","content":[{"type":"text","text":"é"}#],"extra"'.encode() in flat


def test_common_spelling_needs_no_scan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body as JSON.stringify writes it is found by its tail alone."""
    monkeypatch.setattr(offsets, "_by_scan", None)  # the slow way would fail

    assert set(find_offsets(SPELLINGS["newline"], DOCUMENT, BOTH)) == set(BOTH)


@pytest.mark.parametrize(("key", "is_apart"), [("system", True), ("system", False), ("messages", True)])
def test_a_key_that_stands_twice_is_no_place(key: str, is_apart: bool) -> None:
    """Whose value counts is for the receiver to say; nothing is inserted."""
    again = orjson.dumps({key: DOCUMENT[key]})[1:-1]
    between = b',"other":1,' if is_apart else b","
    body = SPELLINGS["compact"].replace(b'"' + key.encode() + b'":', again + between + b'"' + key.encode() + b'":', 1)

    with pytest.raises(OffsetError):
        find_offsets(body, orjson.loads(body), BOTH)


def test_of_messages_twice_in_a_row_the_last_are_added_to() -> None:
    """That is what parsers take, and what was parsed here; the history before it is not looked through for this."""
    again = orjson.dumps({"messages": []})[1:-1] + b","
    body = SPELLINGS["compact"].replace(b'"messages":', again + b'"messages":', 1)
    place = find_offsets(body, orjson.loads(body), [MESSAGE])[MESSAGE]

    assert place == find_offsets(SPELLINGS["compact"], DOCUMENT, [MESSAGE])[MESSAGE] + len(again)


@pytest.mark.parametrize("key", ["role", "content"])
def test_a_message_with_a_key_twice_is_no_place(key: str) -> None:
    """The same inside a message that is to be added to."""
    value = orjson.dumps(DOCUMENT["messages"][1][key])
    body = SPELLINGS["compact"].replace(b'"extra"', b'"' + key.encode() + b'":' + value + b',"extra"')

    with pytest.raises(OffsetError):
        find_offsets(body, orjson.loads(body), [MESSAGE])


def test_an_equal_value_further_down_is_not_taken() -> None:
    """A tool with a `system` of the very same bytes, after the real one that is written otherwise, misleads nobody."""
    tail = SPELLINGS["compact"].split(b'"tools"')[1]
    body = SPELLINGS["compact"].replace(b'"system":[{"type":"text","text":"s"}],"tools"' + tail, b"")
    body += b'"system" : [ {"type":"text","text":"s"} ] ,"tools"' + tail
    place = find_offsets(body, DOCUMENT, [SYSTEM])[SYSTEM]

    assert body[:place].endswith(b'"system" : [ {"type":"text","text":"s"} ')


def test_inside_of_the_document_is_before_its_last_brace() -> None:
    """There a member is added that the document does not have, in both spellings."""
    document = {"model": "m", "messages": []}
    for body in (orjson.dumps(document), b' {"model" : "m", "messages" : [ ] }\n', b"{}", b" { } "):
        place = find_offsets(body, orjson.loads(body), [Spot(())])[Spot(())]

        assert body[place:].strip() == b"}"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="utf-8"), max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab"\\é', max_size=2), inner, max_size=3),
    max_leaves=12,
)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[tuple[str | int, ...], Any]]:
    """Every value in a document with its path."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return [(path, value), *(found for step, one in inner for found in paths(one, (*path, step)))]


@given(st.dictionaries(st.text("ab", max_size=2), VALUES, max_size=4), st.data())
def test_any_spots_of_any_document_are_found_alike(document: dict[str, Any], data: st.DataObject) -> None:
    """By the tail and by the scan: between them lies the value, and an inner place stands before its last byte."""
    known = dict(paths(document))
    chosen = data.draw(st.lists(st.sampled_from(list(known)), min_size=1, max_size=4, unique=True))
    spots = [Spot(path, side) for path in chosen for side in Side]
    spots = [spot for spot in spots if spot.side is not Side.INSIDE or isinstance(known[spot.path], str | list | dict)]
    compact = orjson.dumps(document)
    for body, loads in ((compact, orjson.loads), (json.dumps(document, indent=1).encode(), json.loads)):
        places = find_offsets(body, document, spots)

        assert set(places) == set(spots)
        for path in chosen:
            start, end = places[Spot(path, Side.BEFORE)], places[Spot(path, Side.AFTER)]
            assert loads(body[start:end]) == known[path]
            assert body[start:end] == body[start:end].strip()
            assert places.get(Spot(path), end - 1) == end - 1


@pytest.mark.parametrize(
    "spot",
    [Spot(("nothing",)), Spot(("messages", 3)), Spot(("model", "x")), Spot(("stream",)), Spot(("messages", "x"))],
    ids=["member", "item", "below-a-text", "inside-of-true", "key-of-a-list"],
)
@pytest.mark.parametrize("spelling", ["compact", "pretty"])
def test_a_path_to_nowhere_is_no_place(spelling: str, spot: Spot) -> None:
    """What is not there has no offset, in any spelling."""
    with pytest.raises(OffsetError):
        find_offsets(SPELLINGS[spelling], DOCUMENT, [spot])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"messages": {}, "system": []}',
        b'{"system": [] "messages": []}',
        b'{"system": "\xff"}',
        b"[" * 5000,
    ],
)
def test_what_can_not_be_walked_is_an_error(body: bytes) -> None:
    """Broken JSON, bytes that are no UTF-8 and endless nesting are an OffsetError, never another error."""
    with pytest.raises(OffsetError):
        find_offsets(body, DOCUMENT, BOTH)


def test_numbers_json_writes_another_way_are_walked() -> None:
    """`1e+21` and integers beyond 64 bits, which orjson writes otherwise, don't stop the insertion."""
    body = b'{"messages":[],"system":[],"a":1e+21,"b":123456789012345678901234567890}'
    place = find_offsets(body, orjson.loads(body), [SYSTEM])[SYSTEM]

    assert body[place:].startswith(b'],"a"')
