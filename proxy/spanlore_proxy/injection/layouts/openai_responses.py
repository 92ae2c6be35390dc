"""OpenAI Responses.

- The block is one message of role developer, right behind the developer (or system) messages the input begins with,
  so before the first item that grows out of the conversation. Never `instructions`: a backend may compare them with
  what it knows of the client, and Codex sends none. An input that is a text becomes the list it stands for.
- A hint goes inside the output of the failing call: at the end of its text, or as one more part of its list. A
  developer message of its own would lend a memory the developer's authority, and would stand between the outputs of
  parallel calls, where servers that fill chat templates want none. Of the other kinds of outputs (shell, patch,
  computer) the API prescribes the form; they get no hint. Behind a prompt it is one more part of the user's message.
- Where the provider holds the history (`previous_response_id`, `conversation`) what was inserted before stands there
  already; it is not inserted again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import orjson

from spanlore_proxy.injection.layouts.layout import Layout, Piece, Raw, extended
from spanlore_proxy.injection.offsets import OffsetError, Side, Spot
from spanlore_proxy.wire.openai_responses import MESSAGES_KEY
from spanlore_proxy.wire.openai_responses.kinds import COMPACTIONS, kind_of
from spanlore_proxy.wire.openai_responses.request import is_preamble
from spanlore_proxy.wire.request import WireRequest

_RESULTS: Final = frozenset({"function_call_output", "custom_tool_call_output"})
_HELD_BY: Final = ("previous_response_id", "conversation")


def _refusal(request: WireRequest) -> str:
    given = request.document.get(MESSAGES_KEY)
    # An empty input warms a connection up (Codex), or stands for a prompt that the provider keeps.
    return "" if given and isinstance(given, str | list) else "no_input"


def _is_continued(request: WireRequest) -> bool:
    return any(request.document.get(key) for key in _HELD_BY)


def _epoch(request: WireRequest) -> str:
    """The newest summary, mostly encrypted, that stands in the place of what went before."""
    given = request.document.get(MESSAGES_KEY)
    for item in reversed(given) if isinstance(given, list) else ():
        if kind_of(item) in COMPACTIONS:
            said = item.get("encrypted_content") or item.get("id") or orjson.dumps(item).decode()
            return hashlib.blake2b(str(said).encode("utf-8", "replace"), digest_size=16).hexdigest()
    return ""


def _block(request: WireRequest, texts: Sequence[str]) -> list[Piece]:
    given = request.document.get(MESSAGES_KEY)
    content = [_part(text) for text in texts]
    item = orjson.dumps({"type": "message", "role": "developer", "content": content})
    if isinstance(given, str):
        return [
            Piece(Spot((MESSAGES_KEY,), Side.BEFORE), b"[" + item + b',{"role":"user","content":'),
            Piece(Spot((MESSAGES_KEY,), Side.AFTER), b"}]"),
        ]
    if not isinstance(given, list):
        raise OffsetError("no input")
    first = next((index for index, one in enumerate(given) if not is_preamble(one)), len(given))
    if first < len(given):
        return [Piece(Spot((MESSAGES_KEY, first), Side.BEFORE), item + b",")]
    return [Piece(Spot((MESSAGES_KEY,)), b"," + item if given else item)]


def _hint(request: WireRequest, index: int, texts: Sequence[str]) -> list[Piece]:
    item = request.raw_messages[index] if 0 <= index < len(request.raw_messages) else {}
    given = request.document.get(MESSAGES_KEY)
    # Messages are gathered from items; those of a client are the very items.
    at = next((i for i, one in enumerate(given) if one is item), None) if isinstance(given, list) else None
    if at is None or not (kind_of(item) in _RESULTS or _is_prompt(item)):
        raise OffsetError(f"message {index} is neither a tool's nor a user's")
    key = "content" if _is_prompt(item) else "output"
    return [extended((MESSAGES_KEY, at, key), item.get(key), texts, _part)]


def _is_prompt(item: Raw) -> bool:
    content = item.get("content")
    return item.get("role") == "user" and isinstance(content, str | list) and bool(content)


def _takes_prompt_hint(request: WireRequest, index: int) -> bool:
    item, given = request.raw_messages[index], request.document.get(MESSAGES_KEY)
    return isinstance(given, list) and _is_prompt(item) and any(one is item for one in given)


def _part(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def _result_ids(message: Raw) -> Iterable[str]:
    if message.get("type") not in _RESULTS or not isinstance(message.get("output"), str | list):
        return ()
    id_ = message.get("call_id") or message.get("id")
    return (id_,) if isinstance(id_, str) else ()


OPENAI_RESPONSES: Final = Layout(
    _block, _hint, _result_ids, _takes_prompt_hint, refusal=_refusal, epoch=_epoch, is_continued=_is_continued
)
