"""What the rest of injection has to know about a dialect, and the two ways to add text that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from spanlore_proxy.injection.offsets import OffsetError, Spot
from spanlore_proxy.wire.request import WireRequest

type Raw = Mapping[str, Any]
"""One of `WireRequest.raw_messages`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes and the spot in the client's document where they are to stand."""

    spot: Spot
    data: bytes


@dataclass(frozen=True, slots=True)
class Layout:
    """The pure functions of one dialect. Indexes are those of `WireRequest.raw_messages`."""

    block: Callable[[WireRequest, Sequence[str]], list[Piece]]
    """Texts behind the client's own system prompt. Raises OffsetError where the request has no room for them."""
    hint: Callable[[WireRequest, int, Sequence[str]], list[Piece]]
    """Texts behind the content of one message: its tool results, or a prompt. Raises OffsetError."""
    result_ids: Callable[[Raw], Iterable[str]]
    """Ids of the calls whose results stand in a message where a hint has room beside them."""
    takes_prompt_hint: Callable[[WireRequest, int], bool]
    """Whether the message is a user's, and has room for a text behind what it says."""
    refusal: Callable[[WireRequest], str] = lambda _: ""
    """Why nothing can be inserted into this request, whatever it says; '' when something can."""
    epoch: Callable[[WireRequest], str] = lambda _: ""
    """What names the newest compaction in the request's own terms; '' when there was none, or it can't be told."""
    is_continued: Callable[[WireRequest], bool] = lambda _: False
    """The provider holds the history, and only what is new is on the wire."""


def extended(
    path: tuple[str | int, ...], content: Any, texts: Sequence[str], block: Callable[[str], dict[str, Any]]
) -> Piece:
    """Texts at the end of a content: a list gets more blocks; a text goes on inside its quotes, after an empty line.

    Raises:
        OffsetError: The content is neither.
    """
    if isinstance(content, list):
        blocks = b",".join(orjson.dumps(block(text)) for text in texts)
        return Piece(Spot(path), b"," + blocks if content else blocks)
    if isinstance(content, str):
        return Piece(Spot(path), orjson.dumps(("\n\n" if content else "") + "\n\n".join(texts))[1:-1])
    raise OffsetError(f"{'.'.join(map(str, path))} is {type(content).__name__}, neither text nor blocks")


def added(path: tuple[str | int, ...], members: Mapping[str, Any], key: str, value: Any) -> Piece:
    """A member that an object does not have yet, last in it."""
    data = orjson.dumps(key) + b":" + orjson.dumps(value)
    return Piece(Spot(path), b"," + data if members else data)


def text_block(text: str) -> dict[str, Any]:
    """A text as a block of Anthropic Messages or Chat Completions."""
    return {"type": "text", "text": text}
