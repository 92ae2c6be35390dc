"""The identity of a Gemini message, so that the next request's history can be told from what is new.

Between a streamed answer and its echo, clients join text parts, drop thoughts, signatures and empty texts, add ids to
calls or leave them out, and write numbers anew (`1.0` → `1`). So the digest is made of what a message says: role, text,
names and arguments of calls, names and content of results; of parts of other types all but signatures.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
_SILENT: Final = frozenset({"id", "call_id", "thoughtSignature", "thought", "videoMetadata", "partMetadata"})
"""Keys of a part that do not say anything."""
_MAX_EXACT: Final = 2**53


def message_digest(raw_message: dict[str, Any]) -> bytes:
    """16 bytes: BLAKE2b of the normal form of a message as `parse_request` and the fold give it."""
    role = raw_message.get("role")
    content = raw_message.get("content")
    pieces = [str(role).encode("utf-8", "replace")]
    text: list[str] = []
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("thought") is True and "functionCall" not in part:
            continue
        said = part.get("text")
        if isinstance(said, str):
            text.append(said)
        elif (data := _data(part)) is not None:
            _add_text(pieces, text, is_model=role == "assistant")
            pieces += [b"%d" % len(data), data]
    _add_text(pieces, text, is_model=role == "assistant")
    return hashlib.blake2b(b"\n".join(pieces), digest_size=16).digest()


def normal(value: Any) -> Any:
    """A JSON value with whole numbers written as integers, as JavaScript writes them."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        return int(value)
    if isinstance(value, dict):
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list):
        return [normal(item) for item in value]
    return value


def _data(part: dict[str, Any]) -> bytes | None:
    """The normal form of a part that is no text; None when it says nothing."""
    call, response = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, dict):
        said: Any = ["call", call.get("name"), call.get("args") or {}]
    elif isinstance(response, dict):
        said = ["result", response.get("name"), response.get("response"), response.get("parts") or []]
    else:
        said = {key: value for key, value in part.items() if key not in _SILENT and value is not None}
        if not said:
            return None
    return dump(said)


def dump(value: Any) -> bytes:
    """JSON with sorted keys; of a value nested beyond what can be written (254 levels), only that it is."""
    try:
        return orjson.dumps(normal(value), option=_OPTIONS)
    except (TypeError, RecursionError):
        return b"nested too deep"


def _add_text(pieces: list[bytes], text: list[str], *, is_model: bool) -> None:
    """Adds the texts said so far as one, and forgets them. Clients trim and join the model's; a person's stay apart."""
    for said in ["".join(text).strip()] if is_model else text:
        data = said.encode("utf-8", "surrogatepass")
        if data:
            pieces += [b"text %d" % len(data), data]
    text.clear()
