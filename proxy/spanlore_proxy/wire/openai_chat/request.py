"""A Chat Completions request's body → WireRequest."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.openai_chat.parts import legacy_call_id
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest, integer, number

SYSTEM_ROLES: Final = ("system", "developer")


MESSAGES_KEY: Final = "messages"
"""Where a body has its history."""


def parse_request(body: bytes) -> WireRequest:
    """The parsed body; messages stay raw, see `read_document`.

    Raises:
        MalformedRequestError: Not a JSON object with a list of message objects.
    """
    return read_document(parse_document(body))


def read_document(document: Any) -> WireRequest:
    """The request of a body that is parsed already.

    The system prompt is what stands before the first and after the last message of the conversation (aider repeats its
    rules at the very end of every request); system messages in between stay where they are.

    Raises:
        MalformedRequestError: Not an object with a list of message objects.
    """
    if not isinstance(document, dict):
        raise MalformedRequestError("not a JSON object")
    messages = document.get(MESSAGES_KEY)
    if not isinstance(messages, list) or set(map(type, messages)) - {dict}:
        raise MalformedRequestError("no list of messages")
    first, last = 0, len(messages)
    while first < last and messages[first].get("role") in SYSTEM_ROLES:
        first += 1
    while last > first and messages[last - 1].get("role") in SYSTEM_ROLES:
        last -= 1
    model = document.get("model")
    return WireRequest(
        dialect=Dialect.OPENAI_CHAT,
        document=document,
        model=model if isinstance(model, str) else None,
        is_streaming=document.get("stream") is True,
        parameters=_parameters(document),
        raw_messages=_with_call_ids(messages[first:last]),
        raw_system=[block for message in (*messages[:first], *messages[last:]) for block in _blocks(message)],
        raw_tools=_tools(document),
    )


def parse_document(body: bytes) -> Any:
    """The body as JSON.

    Raises:
        MalformedRequestError: It is none.
    """
    try:
        return jsontext.loads(body)
    except ValueError as fault:
        raise MalformedRequestError(f"not JSON: {fault}") from fault


def _tools(document: dict[str, Any]) -> list[Any]:
    tools = document.get("tools") or document.get("functions")
    return tools if isinstance(tools, list) else []


def _blocks(message: dict[str, Any]) -> list[Any]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _with_call_ids(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages, each result of a legacy function with the id of its call, which the wire does not have."""
    if not any(message.get("role") == "function" for message in messages):
        return messages
    out, call_id = [], ""
    for message in messages:
        if isinstance(call := message.get("function_call"), dict):
            call_id = legacy_call_id(call)
        is_result = message.get("role") == "function" and "tool_call_id" not in message
        out.append({**message, "tool_call_id": call_id} if is_result else message)
    return out


def _parameters(document: dict[str, Any]) -> RequestParameters:
    stops = document.get("stop")
    stops = [stops] if isinstance(stops, str) else stops
    reasoning = document.get("reasoning")  # OpenRouter
    effort = document.get("reasoning_effort") or (reasoning.get("effort") if isinstance(reasoning, dict) else None)
    limit = integer(document.get("max_completion_tokens"))
    return RequestParameters(
        max_tokens=integer(document.get("max_tokens")) if limit is None else limit,
        temperature=number(document.get("temperature")),
        top_p=number(document.get("top_p")),
        top_k=integer(document.get("top_k")),
        stop_sequences=tuple(stop for stop in stops if isinstance(stop, str)) if isinstance(stops, list) else (),
        reasoning_level=effort if isinstance(effort, str) else None,
    )
