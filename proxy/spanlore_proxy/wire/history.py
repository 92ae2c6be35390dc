"""Bodies parsed without parsing again what the last request of the same conversation already said.

An agent resends its whole past with each call: of a body of a megabyte all but the last kilobytes are, byte for byte,
the beginning of the body before it. That beginning, up to the end of a message, is remembered with what it says. A body
that starts with the same bytes (one memcmp) is parsed from there on, and gets the very same message objects; whatever
does not fit is parsed whole. So the result is always that of `jsontext.loads`.

Where a message ends is proven as `injection.offsets` does it: the tail behind it, written again from the document, is
the body's own tail. A valid JSON text that ends with these bytes has this structure there: the tail holds an even
number of quotes, so it cannot begin inside a string. A body in another spelling (Python's `json.dumps`, say) is read by
the standard decoder, which tells where each value ends: all of it once, then from the beginning on that is known.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanlore.genai import jsontext
from spanlore_proxy.wire.prefixes import MAX_BYTES, MAX_COUNT, Prefix, Prefixes

MIN_BYTES: Final = 4 * 1024
"""A shorter beginning is parsed faster than it is found."""
UNSETTLED: Final = 2
"""Newest messages that are left out: clients write them another way once they are no longer the newest (the cache
breakpoint moves on)."""
_decode: Final = json.JSONDecoder().raw_decode
"""(the value, where it ends) of a text from an offset on."""
_MARK: Final = f"the messages go on {secrets.token_hex(16)}"
"""No body has it."""
_OPENED: Final = b"{" + orjson.dumps(_MARK) + b":[{}"


@dataclass(frozen=True, slots=True)
class _Past:
    """What a body says up to the end of one of its messages."""

    key: str
    head: dict[str, Any]
    """The members before the messages."""
    messages: list[Any]


class Histories:
    """The conversations seen last. Not for several threads at once."""

    def __init__(self, max_bytes: int = MAX_BYTES, max_count: int = MAX_COUNT) -> None:
        self._pasts = Prefixes[_Past](max_bytes, max_count)
        self._looked_up: tuple[bytes, str, Prefix[_Past] | None] = (b"", "", None)
        """The body that was parsed last, its key, and what it begins with: mostly learnt next."""

    def __len__(self) -> int:
        return len(self._pasts)

    def loads(self, body: bytes, key: str) -> Any:
        """The parsed body. `key` names the list of messages. Message objects may be those of an earlier body.

        Raises:
            ValueError: It is not JSON, or nested beyond what can be parsed.
        """
        past = self._longest(body, key)
        self._looked_up = (body, key, past)
        document = _continued(body, past) if past is not None else None
        return jsontext.loads(body) if document is None else document

    def learn(self, body: bytes, document: Any, key: str) -> None:
        """Remembers the body, so that the next one that begins with it is cheap. `document` is the parsed body."""
        if len(body) < MIN_BYTES or not self._pasts.may_keep(body) or not isinstance(document, dict):
            return
        messages = document.get(key)
        if not isinstance(messages, list) or len(messages) <= UNSETTLED:
            return
        count = len(messages) - UNSETTLED
        if not isinstance(messages[count - 1], dict):
            return
        parsed, parsed_key, past = self._looked_up
        self._looked_up = (b"", "", None)
        before = past if parsed is body and parsed_key == key else self._longest(body, key)
        end = _end_of_message(body, document, key, count)
        if end is None:
            end = _scanned_end(body, document, key, count, before)
        if end is None or end < MIN_BYTES:
            return
        if before is None or before.end <= end:
            head = {name: document[name] for name in _before(document, key)}
            self._pasts.keep(body, end, _Past(key, head, messages[:count]), before)

    def _longest(self, body: bytes, key: str) -> Prefix[_Past] | None:
        return self._pasts.longest(body, lambda prefix: prefix.value.key == key)


def _continued(body: bytes, prefix: Prefix[_Past]) -> dict[str, Any] | None:
    """The document of a body that begins as the past does; None where it has to be parsed whole."""
    try:
        # Behind a whole message in its list: what is valid here, behind another object, is valid there.
        rest = orjson.loads(_OPENED + body[prefix.end :])
    except orjson.JSONDecodeError:
        return None
    past, messages = prefix.value, rest.pop(_MARK)
    if past.key in rest:  # the key stands twice, and the last one counts
        return None
    messages[:1] = past.messages
    return {**past.head, past.key: messages, **rest}


def _end_of_message(body: bytes, document: dict[str, Any], key: str, count: int) -> int | None:
    """Where message number `count` (from 1) ends in the body; None where that cannot be proven."""
    names = list(document)
    later = names[names.index(key) + 1 :]
    try:
        tail = [b"," + orjson.dumps(message) for message in document[key][count:]] + [b"]"]
        tail += [b"," + orjson.dumps(name) + b":" + orjson.dumps(document[name]) for name in later] + [b"}"]
    except TypeError:  # what orjson can't write (integers beyond 64 bits, half characters)
        return None
    written = b"".join(tail)
    end = len(body.rstrip(b" \t\r\n")) if body[-1:] != b"}" else len(body)
    return end - len(written) if body.endswith(written, 0, end) else None


def _scanned_end(
    body: bytes, document: dict[str, Any], key: str, count: int, before: Prefix[_Past] | None
) -> int | None:
    """The same of a body in any spelling, read on from the beginning that is known."""
    known = before if before is not None and len(before.value.messages) <= count else None
    start, done = (known.end, len(known.value.messages)) if known is not None else (0, 0)
    try:
        text = body[start:].decode()
        position = 0 if done else _list_of(text, key)
        for number in range(done, count):
            position = _behind(text, position, ",") if number else _skip(text, position)
            _, position = _decode(text, position)
        end = start + (position if text.isascii() else len(text[:position].encode()))
        rest = orjson.loads(_OPENED + body[end:])
    except (ValueError, IndexError, RecursionError):
        return None
    # Were the key there twice, the document would have the other list.
    return end if key not in rest and rest[_MARK][1:] == document[key][count:] else None


def _list_of(text: str, key: str) -> int:
    """Where the first element of that member's list begins."""
    position = _behind(text, 0, "{")
    while True:
        name, position = _decode(text, position)
        position = _behind(text, position, ":")
        if name == key:
            return _behind(text, position, "[")
        _, position = _decode(text, position)
        position = _behind(text, position, ",")


def _behind(text: str, position: int, character: str) -> int:
    """Behind that character and the white space around it."""
    position = _skip(text, position)
    if text[position] != character:
        raise ValueError(f"{character!r} expected at {position}")
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    while text[position] in " \t\r\n":
        position += 1
    return position


def _before(document: dict[str, Any], key: str) -> list[str]:
    names = list(document)
    return names[: names.index(key)]
