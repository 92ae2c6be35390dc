"""A Responses request's body → WireRequest.

The API's input is a flat list of items. What the model made in one answer (reasoning, message, calls) is several of
them; they are gathered into one raw message `{"role": "assistant", "content": [items]}`, so that a conversation here is
what it is in every other dialect: messages, some of them the model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.openai_chat.request import SYSTEM_ROLES, parse_document
from spanlore_proxy.wire.openai_responses.kinds import is_of_model, is_server_side, kind_of
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest, integer, number

MESSAGES_KEY: Final = "input"
"""Where a body has its history."""


def parse_request(body: bytes) -> WireRequest:
    """The parsed body; items stay raw, see above.

    Raises:
        MalformedRequestError: Not a JSON object whose input is a text or a list of items.
    """
    return read_document(parse_document(body))


def read_document(document: Any) -> WireRequest:
    """The request of a body that is parsed already; a `response.create` event on a WebSocket is one, too.

    The system prompt is `instructions` and the developer messages before the first other item; tools come in `tools` or
    in an `additional_tools` item (Codex).

    Raises:
        MalformedRequestError: Not an object, or its input is neither a text nor a list of items.
    """
    if not isinstance(document, dict):
        raise MalformedRequestError("not a JSON object")
    items = _items(document)
    first = next((i for i, item in enumerate(items) if not is_preamble(item)), len(items))
    instructions = document.get("instructions")
    model = document.get("model")
    return WireRequest(
        dialect=Dialect.OPENAI_RESPONSES,
        document=document,
        model=model if isinstance(model, str) else None,
        is_streaming=document.get("stream") is True,
        parameters=_parameters(document),
        raw_messages=list(gather(item for item in items[first:] if kind_of(item) != "additional_tools")),
        raw_system=[*_blocks(instructions), *(block for item in items[:first] for block in _blocks(_content(item)))],
        raw_tools=list(_tools(document, items)),
    )


def gather(items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The items as messages: what the model made in a row is one message, everything else one each."""
    mine: list[dict[str, Any]] = []
    server_calls: set[str] = set()
    for item in items:
        if is_of_model(item, server_calls):
            if is_server_side(item) and isinstance(call_id := item.get("call_id"), str):
                server_calls.add(call_id)
            mine.append(item)
            continue
        if mine:
            yield {"role": "assistant", "content": mine}
            mine = []
        yield item
    if mine:
        yield {"role": "assistant", "content": mine}


def _items(document: dict[str, Any]) -> list[dict[str, Any]]:
    value = document.get(MESSAGES_KEY)
    if isinstance(value, str):
        return [{"role": "user", "content": value}]
    if value is None and any(key in document for key in ("prompt", "previous_response_id", "conversation")):
        return []
    if not isinstance(value, list) or set(map(type, value)) - {dict}:
        raise MalformedRequestError("no input, neither a text nor a list of items")
    return value


def is_preamble(item: dict[str, Any]) -> bool:
    """Whether the item is the client's own word, if it stands before all others: the system prompt, or tools."""
    kind = kind_of(item)
    return kind == "additional_tools" or (kind == "message" and item.get("role") in SYSTEM_ROLES)


def _content(item: dict[str, Any]) -> Any:
    return item.get("content") if kind_of(item) == "message" else None


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _tools(document: dict[str, Any], items: list[dict[str, Any]]) -> Iterator[Any]:
    lists = [document.get("tools"), *(item.get("tools") for item in items if kind_of(item) == "additional_tools")]
    for tools in lists:
        for tool in tools if isinstance(tools, list) else ():
            inner = tool.get("tools") if isinstance(tool, dict) and tool.get("type") == "namespace" else None
            yield from inner if isinstance(inner, list) else (tool,)


def _parameters(document: dict[str, Any]) -> RequestParameters:
    reasoning = document.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, dict) else None
    return RequestParameters(
        max_tokens=integer(document.get("max_output_tokens")),
        temperature=number(document.get("temperature")),
        top_p=number(document.get("top_p")),
        reasoning_level=effort if isinstance(effort, str) else None,
    )
