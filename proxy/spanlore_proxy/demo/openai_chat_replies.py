"""A scripted model's answer in OpenAI's Chat Completions format, streamed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from spanlore_proxy.demo.replies import Reply, ReplyBody, ReplyPart, Say, Think, UseTool, pieces

DONE = b"data: [DONE]\n\n"
WHOLE_CALLS = ("codestral", "devstral", "magistral", "mistral")
"""Models whose API sends a tool call in one piece, with its name, and usage unasked; its own client wants both."""


def as_json(body: ReplyBody, _document: dict[str, Any]) -> bytes:
    """The whole completion, as the API answers without `stream`."""
    message: dict[str, Any] = {"role": "assistant", "content": _text(body.reply) or None, "refusal": None}
    if calls := list(_calls(body)):
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(body.reply)}
    return orjson.dumps(_frame(body, "chat.completion") | {"choices": [choice], "usage": _usage(body)})


def events(body: ReplyBody, document: dict[str, Any]) -> Iterator[bytes]:
    """The stream; usage comes in a chunk of its own where the request asked for it."""
    yield _chunk(body, {"role": "assistant", "content": ""})
    ids = iter(enumerate(_calls(body)))
    is_whole = str(document.get("model")).startswith(WHOLE_CALLS)
    for part in body.reply.parts:
        for delta in _deltas(part, ids, is_whole=is_whole):
            yield _chunk(body, delta)
    yield _chunk(body, {}, _finish_reason(body.reply))
    if is_whole or (document.get("stream_options") or {}).get("include_usage"):
        yield _data(_frame(body, "chat.completion.chunk") | {"choices": [], "usage": _usage(body)})
    yield DONE


def _deltas(
    part: ReplyPart, calls: Iterator[tuple[int, dict[str, Any]]], *, is_whole: bool
) -> Iterator[dict[str, Any]]:
    match part:
        case Say(text):
            for piece in pieces(text):
                yield {"content": piece}
        case Think(text):
            for piece in pieces(text):
                yield {"reasoning_content": piece}
        case UseTool():
            index, call = next(calls)
            if is_whole:
                yield {"tool_calls": [call | {"index": index}]}
                return
            function = call["function"]
            yield {"tool_calls": [call | {"index": index, "function": function | {"arguments": ""}}]}
            for piece in pieces(function["arguments"]):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _calls(body: ReplyBody) -> Iterator[dict[str, Any]]:
    tools = [part for part in body.reply.parts if isinstance(part, UseTool)]
    for tool, id_ in zip(tools, body.tool_ids, strict=True):
        arguments = orjson.dumps(tool.input).decode()
        yield {"id": id_, "type": "function", "function": {"name": tool.name, "arguments": arguments}}


def _text(reply: Reply) -> str:
    return "".join(part.text for part in reply.parts if isinstance(part, Say))


def _finish_reason(reply: Reply) -> str:
    has_tool = any(isinstance(part, UseTool) for part in reply.parts)
    return reply.stop_reason or ("tool_calls" if has_tool else "stop")


def _usage(body: ReplyBody) -> dict[str, Any]:
    usage = body.usage
    return {
        "prompt_tokens": usage.total_tokens,
        "completion_tokens": body.output_tokens,
        "total_tokens": usage.total_tokens + body.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }


def _frame(body: ReplyBody, kind: str) -> dict[str, Any]:
    created = body.time_s
    return {"id": f"chatcmpl-{body.message_id[6:]}", "object": kind, "created": created, "model": body.model}


def _chunk(body: ReplyBody, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return _data(_frame(body, "chat.completion.chunk") | {"choices": [choice]})


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(value) + b"\n\n"
