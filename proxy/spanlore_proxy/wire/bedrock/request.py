"""A Bedrock request's body → WireRequest, its messages in the Messages API's shape.

InvokeModel takes what the model takes: for Claude a Messages body with `anthropic_version` and without a model, for
Nova (`schemaVersion: messages-v1`) the Converse shapes, for Titan and others a prompt. Converse has one shape for all.
CountTokens nests either. The model, and whether the answer is streamed, stand in the path.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import Dialect, RequestParameters
from spanlore_proxy.wire import anthropic
from spanlore_proxy.wire.bedrock.converse import messages_blocks, messages_message, messages_tools
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest, number

_PROMPTS: Final = ("inputText", "prompt", "message")
"""Where models with a shape of their own take their prompt (Titan, Llama and Mistral, Cohere)."""


def parse_request(body: bytes) -> WireRequest:
    """The parsed body.

    Raises:
        MalformedRequestError: Not a JSON object with messages or a prompt.
    """
    try:
        document = jsontext.loads(body)
    except ValueError as fault:
        raise MalformedRequestError(f"not JSON: {fault}") from fault
    if not isinstance(document, dict):
        raise MalformedRequestError("not a JSON object")
    counted = document.get("input")
    if isinstance(counted, dict):
        return dataclasses.replace(_parse_counted(counted), document=document)
    return _parse(document, body)


def _parse_counted(counted: dict[str, Any]) -> WireRequest:
    invoked, conversed = counted.get("invokeModel"), counted.get("converse")
    if isinstance(conversed, dict):
        return _parse(conversed, b"")
    data = invoked.get("body") if isinstance(invoked, dict) else None
    try:
        body = base64.b64decode(data) if isinstance(data, str) else b""
    except (binascii.Error, ValueError) as fault:
        raise MalformedRequestError("not base64") from fault
    return parse_request(body)


def _parse(document: dict[str, Any], body: bytes) -> WireRequest:
    if "anthropic_version" in document:
        return dataclasses.replace(anthropic.parse_request(body), dialect=Dialect.BEDROCK)
    messages = document.get("messages")
    if isinstance(messages, list):
        return _parse_converse(document, messages)
    prompt = next((document[name] for name in _PROMPTS if isinstance(document.get(name), str)), None)
    if prompt is None:
        raise MalformedRequestError("neither messages nor a prompt")
    return WireRequest(
        dialect=Dialect.BEDROCK,
        document=document,
        model=None,
        is_streaming=False,
        raw_messages=[{"role": "user", "content": prompt}],
    )


def _parse_converse(document: dict[str, Any], messages: list[Any]) -> WireRequest:
    return WireRequest(
        dialect=Dialect.BEDROCK,
        document=document,
        model=None,
        is_streaming=False,
        parameters=_parameters(document.get("inferenceConfig")),
        raw_messages=[messages_message(message) for message in messages],
        raw_system=list(messages_blocks(document.get("system"))) or None,
        raw_tools=messages_tools(document.get("toolConfig")),
    )


def _parameters(config: Any) -> RequestParameters:
    if not isinstance(config, dict):
        return RequestParameters()
    stops = config.get("stopSequences")
    tokens = config.get("maxTokens")
    return RequestParameters(
        max_tokens=tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None,
        temperature=number(config.get("temperature")),
        top_p=number(config.get("topP")),
        stop_sequences=tuple(stop for stop in stops if isinstance(stop, str)) if isinstance(stops, list) else (),
    )
