"""Where something may be inserted is proven, or nothing is."""

import json
from typing import Any

import orjson
import pytest

from spanlore_proxy.injection import offsets
from spanlore_proxy.injection.offsets import SYSTEM, OffsetError, find_offsets

BOTH = frozenset({SYSTEM, 1})
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
    marked = marked[: places[1]] + b"#" + marked[places[1] :]
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

    assert set(find_offsets(SPELLINGS["newline"], DOCUMENT, BOTH)) == BOTH


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
    place = find_offsets(body, orjson.loads(body), frozenset({1}))[1]

    assert place == find_offsets(SPELLINGS["compact"], DOCUMENT, frozenset({1}))[1] + len(again)


@pytest.mark.parametrize("key", ["role", "content"])
def test_a_message_with_a_key_twice_is_no_place(key: str) -> None:
    """The same inside a message that is to be added to."""
    value = orjson.dumps(DOCUMENT["messages"][1][key])
    body = SPELLINGS["compact"].replace(b'"extra"', b'"' + key.encode() + b'":' + value + b',"extra"')

    with pytest.raises(OffsetError):
        find_offsets(body, orjson.loads(body), frozenset({1}))


def test_an_equal_value_further_down_is_not_taken() -> None:
    """A tool with a `system` of the very same bytes, after the real one that is written otherwise, misleads nobody."""
    tail = SPELLINGS["compact"].split(b'"tools"')[1]
    body = SPELLINGS["compact"].replace(b'"system":[{"type":"text","text":"s"}],"tools"' + tail, b"")
    body += b'"system" : [ {"type":"text","text":"s"} ] ,"tools"' + tail
    place = find_offsets(body, DOCUMENT, frozenset({SYSTEM}))[SYSTEM]

    assert body[:place].endswith(b'"system" : [ {"type":"text","text":"s"} ')


def test_missing_system_is_placed_at_the_end() -> None:
    """Without a system prompt the member goes before the document's last bracket, in both spellings."""
    document = {"model": "m", "messages": []}
    for body in (orjson.dumps(document), b' {"model" : "m", "messages" : [ ] }\n'):
        place = find_offsets(body, document, frozenset({SYSTEM}))[SYSTEM]

        assert body[place:].strip() == b"}"


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
    place = find_offsets(body, orjson.loads(body), frozenset({SYSTEM}))[SYSTEM]

    assert body[place:].startswith(b'],"a"')
