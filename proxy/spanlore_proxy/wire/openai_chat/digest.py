"""The identity of a Chat message, so that the next request's history can be told from what is new.

What the fold saw as the answer and what the client sends back as history must have one digest. Between the two, clients
turn strings into lists of parts, drop reasoning, annotations and empty content, write a call's arguments anew, and move
cache marks. So the digest is made of what a message *says*: role, text, media, calls, results.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from spanlore_proxy.wire.openai_chat.parts import arguments_of, legacy_call_id

_OPTIONS: Final = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
_SYSTEM: Final = {"developer": "system"}
_IGNORED: Final = ("thinking", "reference")


class Pieces:
    """The normal form of a message, piece by piece, each framed by its kind and length."""

    def __init__(self, role: Any) -> None:
        self._pieces = [str(role).encode("utf-8", "replace")]

    def add(self, kind: bytes, value: Any) -> None:
        """A piece of any JSON value."""
        self._frame(kind, orjson.dumps(value, option=_OPTIONS))

    def add_text(self, kind: bytes, text: Any, *, is_model: bool) -> None:
        """A piece of text; clients trim the model's before they send it back, a person's stays as it was typed."""
        if not isinstance(text, str):
            return
        data = (text.strip() if is_model else text).encode("utf-8", "surrogatepass")
        if data:
            self._frame(kind, data)

    def digest(self) -> bytes:
        """16 bytes."""
        return hashlib.blake2b(b"\n".join(self._pieces), digest_size=16).digest()

    def _frame(self, kind: bytes, data: bytes) -> None:
        self._pieces.append(b"%s %d" % (kind, len(data)))
        self._pieces.append(data)


def message_digest(raw_message: dict[str, Any]) -> bytes:
    """16 bytes: BLAKE2b of the message's normal form."""
    role = raw_message.get("role")
    role = _SYSTEM.get(role, role) if isinstance(role, str) else role
    pieces = Pieces(role)
    is_model = role == "assistant"
    if "tool_call_id" in raw_message:
        pieces.add(b"answers", raw_message["tool_call_id"])
    content = raw_message.get("content")
    if isinstance(content, str):
        pieces.add_text(b"text", content, is_model=is_model)
    elif content is not None:
        for part in content if isinstance(content, list) else [content]:
            _add_part(pieces, part, is_model=is_model)
    pieces.add_text(b"refusal", raw_message.get("refusal"), is_model=is_model)
    audio = raw_message.get("audio")
    if isinstance(audio, dict):
        pieces.add(b"audio", audio.get("id"))
    calls = raw_message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        _add_call(pieces, call)
    legacy = raw_message.get("function_call")
    if isinstance(legacy, dict):
        pieces.add(b"call", legacy_call_id(legacy))
    return pieces.digest()


def _add_part(pieces: Pieces, part: Any, *, is_model: bool) -> None:
    if isinstance(part, str):
        pieces.add_text(b"text", part, is_model=is_model)
        return
    type_ = part.get("type") if isinstance(part, dict) else None
    if type_ in ("text", "refusal"):
        pieces.add_text(str(type_).encode(), part.get(type_), is_model=is_model)
    elif type_ not in _IGNORED:
        pieces.add(b"part", bare(part))


def _add_call(pieces: Pieces, call: Any) -> None:
    if not isinstance(call, dict):
        pieces.add(b"call", call)
        return
    custom = call.get("custom")
    if isinstance(custom, dict):
        pieces.add(b"call", [call.get("id"), custom.get("name"), custom.get("input")])
        return
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    pieces.add(b"call", [call.get("id"), function.get("name"), arguments_of(function.get("arguments")) or {}])


def bare(value: Any) -> Any:
    """The value without cache marks and without keys that say nothing."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if item is not None and key != "cache_control"}
    if isinstance(value, list):
        return [bare(item) for item in value]
    return value
