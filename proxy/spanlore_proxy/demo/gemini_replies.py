"""A scripted model's answer in Gemini's format, streamed (`alt=sse`) or not. Calls carry no ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from spanlore_proxy.demo.replies import ReplyBody, ReplyPart, Say, Think, UseTool, pieces


def as_json(body: ReplyBody, _document: dict[str, Any]) -> bytes:
    """The whole answer of `generateContent`."""
    parts = [_part(part) for part in body.reply.parts]
    return orjson.dumps(_answer(body, parts, is_last=True))


def events(body: ReplyBody, _document: dict[str, Any]) -> Iterator[bytes]:
    """The stream of `streamGenerateContent?alt=sse`: texts come in pieces, a call whole."""
    parts = [piece for part in body.reply.parts for piece in _pieces(part)]
    for index, part in enumerate(parts, 1):
        yield b"data: " + orjson.dumps(_answer(body, [part], is_last=index == len(parts))) + b"\r\n\r\n"


def _pieces(part: ReplyPart) -> Iterator[dict[str, Any]]:
    match part:
        case Say(text):
            yield from ({"text": piece} for piece in pieces(text))
        case Think(text):
            yield from ({"text": piece, "thought": True} for piece in pieces(text))
        case UseTool():
            yield _part(part)


def _part(part: ReplyPart) -> dict[str, Any]:
    match part:
        case Say(text):
            return {"text": text}
        case Think(text):
            return {"text": text, "thought": True}
        case UseTool(name, arguments, _):
            return {"functionCall": {"name": name, "args": arguments}}


def _answer(body: ReplyBody, parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = body.reply.stop_reason or "STOP"
    usage = body.usage
    counts = {
        "promptTokenCount": usage.total_tokens,
        "candidatesTokenCount": body.output_tokens,
        "totalTokenCount": usage.total_tokens + body.output_tokens,
    }
    if usage.cache_read_tokens:
        counts["cachedContentTokenCount"] = usage.cache_read_tokens
    return {
        "candidates": [candidate],
        "usageMetadata": counts,
        "modelVersion": body.model,
        "responseId": body.message_id[6:],
    }
