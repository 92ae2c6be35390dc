"""Gemini: generateContent and streamGenerateContent, and Code Assist, which nests their body in `request`.

- The block is one more part, last in `systemInstruction` (in either of protobuf's spellings); where there is none, the
  instruction itself, last in the object. Not beside `cachedContent`, with which the API takes no instruction, and not
  for Gemma, which refuses it.
- A hint is a text part behind the functionResponse or the prompt, last in that content, as clients themselves add text
  there.
- The Interactions API is captured and not rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from spanlore_proxy.injection.layouts.layout import Layout, Piece, Raw, added, extended
from spanlore_proxy.injection.offsets import OffsetError, Side, Spot
from spanlore_proxy.wire.gemini.calls import CALL_ID
from spanlore_proxy.wire.gemini.fields import field, snake
from spanlore_proxy.wire.request import WireRequest

_NEST: Final = "request"
_CONTENTS: Final = "contents"
_SYSTEM: Final = "systemInstruction"
_NO_SYSTEM: Final = "gemma"
"""In the name of models that take no system instruction."""


def _refusal(request: WireRequest) -> str:
    _, inner = _inner(request)
    if not isinstance(inner.get(_CONTENTS), list):
        return "dialect"
    if field(inner, "cachedContent"):
        return "cached_content"
    is_gemma = _NO_SYSTEM in (request.model or "").lower()
    return "no_system_role" if is_gemma and field(inner, _SYSTEM) is None else ""


def _block(request: WireRequest, texts: Sequence[str]) -> list[Piece]:
    path, inner = _inner(request)
    key = _key(inner, _SYSTEM)
    if key is None:
        return [added(path, inner, _SYSTEM, {"parts": [_part(text) for text in texts]})]
    given = inner[key]
    if isinstance(given, dict):
        return _behind_parts((*path, key), given, texts)
    return [extended((*path, key), given, texts, _part)]


def _behind_parts(path: tuple[str, ...], content: Mapping[str, Any], texts: Sequence[str]) -> list[Piece]:
    """One part alone may stand for the list of it (so in the API's own examples); an instruction may have none yet."""
    parts = content.get("parts")
    if isinstance(parts, dict):
        more = b",".join(orjson.dumps(_part(text)) for text in texts)
        spot = (*path, "parts")
        return [Piece(Spot(spot, Side.BEFORE), b"["), Piece(Spot(spot, Side.AFTER), b"," + more + b"]")]
    if parts is None and not content.keys() - {"role"}:
        return [added(path, content, "parts", [_part(text) for text in texts])]
    return [extended((*path, "parts"), parts, texts, _part)]


def _hint(request: WireRequest, index: int, texts: Sequence[str]) -> list[Piece]:
    path, inner = _inner(request)
    contents = inner.get(_CONTENTS)
    content = contents[index] if isinstance(contents, list) and 0 <= index < len(contents) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        raise OffsetError(f"content {index} has no list of parts")
    return [extended((*path, _CONTENTS, index, "parts"), parts, texts, _part)]


def _inner(request: WireRequest) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Where the contents stand: (path, object)."""
    inner = request.document.get(_NEST)
    return ((_NEST,), inner) if isinstance(inner, dict) else ((), request.document)


def _key(members: Mapping[str, Any], name: str) -> str | None:
    """The spelling that the client uses for a field; None where the field is absent."""
    spellings = [key for key in (name, snake(name)) if key in members]
    if len(spellings) > 1:
        raise OffsetError(f"{name} stands twice")
    return spellings[0] if spellings else None


def _part(text: str) -> dict[str, Any]:
    return {"text": text}


def _result_ids(message: Raw) -> Iterator[str]:
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and "functionResponse" in part:
            id_ = part.get(CALL_ID)
            if isinstance(id_, str) and id_:
                yield id_


def _takes_prompt_hint(request: WireRequest, index: int) -> bool:
    _, inner = _inner(request)
    contents = inner.get(_CONTENTS)
    content = contents[index] if isinstance(contents, list) and 0 <= index < len(contents) else None
    if not isinstance(content, dict) or content.get("role", "user") != "user":
        return False
    return isinstance(content.get("parts"), list) and bool(content["parts"])


GEMINI: Final = Layout(_block, _hint, _result_ids, _takes_prompt_hint, refusal=_refusal)
