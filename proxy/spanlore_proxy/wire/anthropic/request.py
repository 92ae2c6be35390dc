"""A Messages request's body → WireRequest."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest, integer, number

MESSAGES_KEY: Final = "messages"
"""Where a body has its history."""


def parse_request(body: bytes) -> WireRequest:
    """The parsed body; messages stay raw.

    Raises:
        MalformedRequestError: Not a JSON object with a list of message objects.
    """
    try:
        document = jsontext.loads(body)
    except ValueError as fault:
        raise MalformedRequestError(f"not JSON: {fault}") from fault
    return read_document(document)


def read_document(document: Any) -> WireRequest:
    """The request of a body that is parsed already.

    Raises:
        MalformedRequestError: Not an object with a list of message objects.
    """
    if not isinstance(document, dict):
        raise MalformedRequestError("not a JSON object")
    messages = document.get(MESSAGES_KEY)
    if not isinstance(messages, list) or set(map(type, messages)) - {dict}:
        raise MalformedRequestError("no list of messages")
    tools = document.get("tools")
    model = document.get("model")
    return WireRequest(
        dialect=Dialect.ANTHROPIC_MESSAGES,
        document=document,
        model=model if isinstance(model, str) else None,
        is_streaming=document.get("stream") is True,
        parameters=_parameters(document),
        raw_messages=messages,
        raw_system=document.get("system"),
        raw_tools=tools if isinstance(tools, list) else [],
    )


def _parameters(document: dict[str, Any]) -> RequestParameters:
    stops = document.get("stop_sequences")
    output = document.get("output_config")
    effort = output.get("effort") if isinstance(output, dict) else None
    return RequestParameters(
        max_tokens=integer(document.get("max_tokens")),
        temperature=number(document.get("temperature")),
        top_p=number(document.get("top_p")),
        top_k=integer(document.get("top_k")),
        stop_sequences=tuple(stop for stop in stops if isinstance(stop, str)) if isinstance(stops, list) else (),
        reasoning_level=effort if isinstance(effort, str) else None,
    )
