"""Anthropic Messages.

- system prompt as a list: one more text block, last; no `cache_control`, on it or moved.
- as a string: the text appended inside its quotes (a block would need a rewrite).
- no system prompt at all: a `system` member, last in the object.
- beside a tool result, and behind a prompt: one more text block, last in that user message. A content that is a string
  becomes the list it stands for, so the message is the same upstream in whichever of both forms the client sends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import orjson

from spanlore_proxy.injection.layouts.layout import Layout, Piece, Raw, added, extended, text_block
from spanlore_proxy.injection.offsets import OffsetError, Side, Spot
from spanlore_proxy.wire.anthropic import MESSAGES_KEY
from spanlore_proxy.wire.request import WireRequest

_SYSTEM_KEY: Final = "system"


def _block(request: WireRequest, texts: Sequence[str]) -> list[Piece]:
    document = request.document
    if _SYSTEM_KEY not in document:
        return [added((), document, _SYSTEM_KEY, [text_block(text) for text in texts])]
    return [extended((_SYSTEM_KEY,), document[_SYSTEM_KEY], texts, text_block)]


def _hint(request: WireRequest, index: int, texts: Sequence[str]) -> list[Piece]:
    messages = request.raw_messages
    content = messages[index].get("content") if 0 <= index < len(messages) else None
    path = (MESSAGES_KEY, index, "content")
    if isinstance(content, str) and content:
        blocks = b",".join(orjson.dumps(text_block(text)) for text in texts)
        return [
            Piece(Spot(path, Side.BEFORE), b'[{"type":"text","text":'),
            Piece(Spot(path, Side.AFTER), b"}," + blocks + b"]"),
        ]
    if not isinstance(content, list):
        raise OffsetError(f"message {index} has no list of blocks")
    return [extended(path, content, texts, text_block)]


def _takes_prompt_hint(request: WireRequest, index: int) -> bool:
    message = request.raw_messages[index]
    content = message.get("content")
    return message.get("role") == "user" and isinstance(content, str | list) and bool(content)


def _result_ids(message: Raw) -> Iterator[str]:
    content = message.get("content")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result":
            id_ = block.get("tool_use_id")
            if isinstance(id_, str) and id_:
                yield id_


ANTHROPIC: Final = Layout(_block, _hint, _result_ids, _takes_prompt_hint)
