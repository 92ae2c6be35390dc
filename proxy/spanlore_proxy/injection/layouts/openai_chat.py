"""OpenAI Chat Completions.

- The block goes into the last of the system (or developer) messages at the beginning: appended inside the quotes of a
  string, one more text part of a list. A system message at the very end (aider's second one) is left alone: in front of
  it stands what grows, so nothing there stays where it is.
- No system message at the beginning: one of role system, first. Not for Gemma, whose chat template refuses it.
- A hint goes into the content of the failing tool's own message. A message of its own would have to stand between the
  results of parallel calls, or behind them all; servers that fill chat templates, and strict ones, want nothing but
  `tool` messages after a message with calls. The content of a `tool` message may be any text, so this breaks nobody,
  and nothing is nearer to the failure. Behind a prompt it goes inside the user's message in the same way.
- In a list it goes inside the quotes of the last text. Clients that mark their newest message send it as a list and
  later as a text (qwen-code); so both are one upstream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from spanlore_proxy.injection.layouts.layout import Layout, Piece, Raw, extended, text_block
from spanlore_proxy.injection.offsets import OffsetError, Side, Spot
from spanlore_proxy.wire.openai_chat import MESSAGES_KEY
from spanlore_proxy.wire.openai_chat.request import SYSTEM_ROLES
from spanlore_proxy.wire.request import WireRequest

_RESULT_ROLES: Final = frozenset({"tool", "function"})
_PROMPT_ROLE: Final = "user"
_NO_SYSTEM_ROLE: Final = "gemma"
"""In the name of models whose chat template refuses system messages."""


def _refusal(request: WireRequest) -> str:
    is_given = bool(_leading(request))
    return "no_system_role" if not is_given and _NO_SYSTEM_ROLE in (request.model or "").lower() else ""


def _block(request: WireRequest, texts: Sequence[str]) -> list[Piece]:
    last = _leading(request) - 1
    messages = request.document[MESSAGES_KEY]
    if last < 0:
        message = orjson.dumps({"role": "system", "content": "\n\n".join(texts)})
        return [_first(message, is_only=not messages)]
    return [extended((MESSAGES_KEY, last, "content"), messages[last].get("content"), texts, text_block)]


def _first(message: bytes, *, is_only: bool) -> Piece:
    if is_only:
        return Piece(Spot((MESSAGES_KEY,)), message)
    return Piece(Spot((MESSAGES_KEY, 0), Side.BEFORE), message + b",")


def _hint(request: WireRequest, index: int, texts: Sequence[str]) -> list[Piece]:
    message = request.raw_messages[index] if 0 <= index < len(request.raw_messages) else {}
    if message.get("role") not in _RESULT_ROLES and message.get("role") != _PROMPT_ROLE:
        raise OffsetError(f"message {index} is neither a tool's nor a user's")
    content, path = message.get("content"), (MESSAGES_KEY, _leading(request) + index, "content")
    last = content[-1] if isinstance(content, list) and content else None
    if isinstance(last, dict) and last.get("type") == "text" and isinstance(last.get("text"), str):
        return [extended((*path, len(content or ()) - 1, "text"), last["text"], texts, text_block)]
    return [extended(path, content, texts, text_block)]


def _leading(request: WireRequest) -> int:
    """How many system messages the conversation begins with."""
    messages = request.document[MESSAGES_KEY]
    return next((i for i, message in enumerate(messages) if message.get("role") not in SYSTEM_ROLES), len(messages))


def _result_ids(message: Raw) -> Iterable[str]:
    if message.get("role") not in _RESULT_ROLES or not isinstance(message.get("content"), str | list):
        return ()
    id_ = message.get("tool_call_id") or message.get("name")
    return (id_,) if isinstance(id_, str) else ()


def _takes_prompt_hint(request: WireRequest, index: int) -> bool:
    message = request.raw_messages[index]
    content = message.get("content")
    return message.get("role") == _PROMPT_ROLE and isinstance(content, str | list) and bool(content)


OPENAI_CHAT: Final = Layout(_block, _hint, _result_ids, _takes_prompt_hint, refusal=_refusal)
