"""A scripted model's answer in OpenAI's Responses format, streamed or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from spanlore_proxy.demo.replies import ReplyBody, ReplyPart, Say, Think, UseTool, pieces


def as_json(body: ReplyBody, document: dict[str, Any]) -> bytes:
    """The whole response object, as the API answers without `stream`."""
    return orjson.dumps(_response(body, "completed", list(_items(body, document))))


def events(body: ReplyBody, document: dict[str, Any]) -> Iterator[bytes]:
    """The stream."""
    number = iter(range(1_000_000))

    def event(kind: str, **data: Any) -> bytes:
        content = {"type": kind, "sequence_number": next(number)} | data
        return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps(content) + b"\n\n"

    yield event("response.created", response=_response(body, "in_progress", []))
    yield event("response.in_progress", response=_response(body, "in_progress", []))
    items = list(_items(body, document))
    for index, item in enumerate(items):
        yield event("response.output_item.added", output_index=index, item=_opening(item))
        for kind, data in _deltas(item):
            yield event(kind, item_id=item["id"], output_index=index, **data)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event("response.completed", response=_response(body, "completed", items))


def _items(body: ReplyBody, document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    call_ids = iter(body.tool_ids)
    for index, part in enumerate(body.reply.parts):
        yield _item(part, f"{body.message_id[4:]}{index:02}", call_ids, document)


def _item(part: ReplyPart, id_: str, call_ids: Iterator[str], document: dict[str, Any]) -> dict[str, Any]:
    match part:
        case Say(text):
            content = [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]
            return _made("message", f"msg_{id_}", role="assistant", content=content)
        case Think(text):
            return {"type": "reasoning", "id": f"rs_{id_}", "summary": [{"type": "summary_text", "text": text}]}
        case UseTool(name, arguments, _) if _is_custom(name, document):
            code = str(arguments.get("input", ""))
            return _made("custom_tool_call", f"ctc_{id_}", call_id=next(call_ids), name=name, input=code)
        case UseTool(name, arguments, _):
            text = orjson.dumps(arguments).decode()
            where = _namespace(name, document)
            return _made("function_call", f"fc_{id_}", call_id=next(call_ids), name=name, arguments=text, **where)


def _made(kind: str, id_: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "id": id_, "status": "completed"} | fields


def _is_custom(name: str, document: dict[str, Any]) -> bool:
    """Whether the tool takes free text."""
    offered = _offered(document)
    inner = [one for tool in offered for one in tool.get("tools") or ()]
    return any(tool.get("name") == name and tool.get("type") == "custom" for tool in (*offered, *inner))


def _namespace(name: str, document: dict[str, Any]) -> dict[str, str]:
    """The namespace that offers the tool, as a call of it names it; codex has one for each MCP server."""
    for tool in _offered(document):
        inner = tool.get("tools") or () if tool.get("type") == "namespace" else ()
        if any(one.get("name") == name for one in inner):
            return {"namespace": str(tool.get("name"))}
    return {}


def _offered(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Codex offers its tools at the top, or in an item of the input."""
    items = document.get("input")
    offered = [*(document.get("tools") or ())]
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and item.get("type") == "additional_tools":
            offered.extend(item.get("tools") or ())
    return [tool for tool in offered if isinstance(tool, dict)]


def _opening(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": [], "summary": [], "arguments": "", "input": ""}
    begun = {key: empty.get(key, value) for key, value in item.items()}
    return begun | ({"status": "in_progress"} if "status" in item else {})


def _deltas(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    match item["type"]:
        case "message":
            place: dict[str, Any] = {"content_index": 0}
            part = item["content"][0]
            yield "response.content_part.added", place | {"part": part | {"text": ""}}
            for piece in pieces(part["text"]):
                yield "response.output_text.delta", place | {"delta": piece, "logprobs": []}
            yield "response.output_text.done", place | {"text": part["text"], "logprobs": []}
            yield "response.content_part.done", place | {"part": part}
        case "reasoning":
            place = {"summary_index": 0}
            text = item["summary"][0]["text"]
            yield "response.reasoning_summary_part.added", place | {"part": {"type": "summary_text", "text": ""}}
            for piece in pieces(text):
                yield "response.reasoning_summary_text.delta", place | {"delta": piece}
            yield "response.reasoning_summary_text.done", place | {"text": text}
            yield "response.reasoning_summary_part.done", place | {"part": item["summary"][0]}
        case "custom_tool_call":
            for piece in pieces(item["input"]):
                yield "response.custom_tool_call_input.delta", {"delta": piece}
            yield "response.custom_tool_call_input.done", {"input": item["input"]}
        case _:
            for piece in pieces(item["arguments"]):
                yield "response.function_call_arguments.delta", {"delta": piece}
            yield "response.function_call_arguments.done", {"arguments": item["arguments"], "name": item["name"]}


def _response(body: ReplyBody, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"resp_{body.message_id[4:]}",
        "object": "response",
        "created_at": body.time_s,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": body.model,
        "output": output,
        "parallel_tool_calls": True,
        "usage": _usage(body) if status == "completed" else None,
    }


def _usage(body: ReplyBody) -> dict[str, Any]:
    usage = body.usage
    return {
        "input_tokens": usage.total_tokens,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": body.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.total_tokens + body.output_tokens,
    }
