"""One codec per dialect, so that whoever handles exchanges need not know dialects by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai.inference import Dialect
from spanlore.genai.messages import Message, Part, ToolDefinition
from spanlore_proxy.wire import anthropic, bedrock, gemini, openai_chat, openai_responses
from spanlore_proxy.wire.dialect import Endpoint
from spanlore_proxy.wire.exchange import End, Exchange
from spanlore_proxy.wire.history import Histories
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest
from spanlore_proxy.wire.response import STREAM_CUT, WireResponse


@dataclass(frozen=True, slots=True)
class Codec:
    """The pure functions of one dialect."""

    parse_request: Callable[[bytes], WireRequest]
    """Raises MalformedRequestError."""
    message_digest: Callable[[dict[str, Any]], bytes]
    decode_message: Callable[[dict[str, Any]], Message]
    decode_system: Callable[[WireRequest], tuple[Part, ...]]
    decode_tools: Callable[[WireRequest], tuple[ToolDefinition, ...]]
    fold_response: Callable[[bytes, str, int | None, bool], WireResponse]
    """Body, content type, status, is_cut. Never raises."""
    with_call_ids: Callable[[WireResponse, WireRequest], WireResponse] | None = None
    """Of a dialect whose tool calls may come without ids: the answer to that request, with the ids that its calls will
    have when the next request is parsed."""
    messages_key: str = ""
    """Top-level member of a body that holds its history; '' where it stands further down."""
    read_document: Callable[[Any], WireRequest] | None = None
    """`parse_request` of a body that is parsed already. With it and `messages_key` a history that is sent again is not
    parsed again. Raises MalformedRequestError."""


CODECS: Final[dict[Dialect, Codec]] = {
    Dialect.ANTHROPIC_MESSAGES: Codec(
        parse_request=anthropic.parse_request,
        message_digest=anthropic.message_digest,
        decode_message=anthropic.decode_message,
        decode_system=anthropic.decode_system,
        decode_tools=anthropic.decode_tools,
        fold_response=anthropic.fold_response,
        messages_key=anthropic.MESSAGES_KEY,
        read_document=anthropic.read_document,
    ),
    Dialect.OPENAI_CHAT: Codec(
        parse_request=openai_chat.parse_request,
        message_digest=openai_chat.message_digest,
        decode_message=openai_chat.decode_message,
        decode_system=openai_chat.decode_system,
        decode_tools=openai_chat.decode_tools,
        fold_response=openai_chat.fold_response,
        messages_key=openai_chat.MESSAGES_KEY,
        read_document=openai_chat.read_document,
    ),
    Dialect.OPENAI_RESPONSES: Codec(
        parse_request=openai_responses.parse_request,
        message_digest=openai_responses.message_digest,
        decode_message=openai_responses.decode_message,
        decode_system=openai_responses.decode_system,
        decode_tools=openai_responses.decode_tools,
        fold_response=openai_responses.fold_response,
        messages_key=openai_responses.MESSAGES_KEY,
        read_document=openai_responses.read_document,
    ),
    Dialect.GEMINI: Codec(
        parse_request=gemini.parse_request,
        message_digest=gemini.message_digest,
        decode_message=gemini.decode_message,
        decode_system=gemini.decode_system,
        decode_tools=gemini.decode_tools,
        fold_response=gemini.fold_response,
        with_call_ids=gemini.with_call_ids,
        messages_key=gemini.MESSAGES_KEY,
        read_document=gemini.read_document,
    ),
    Dialect.BEDROCK: Codec(
        parse_request=bedrock.parse_request,
        message_digest=bedrock.message_digest,
        decode_message=bedrock.decode_message,
        decode_system=bedrock.decode_system,
        decode_tools=bedrock.decode_tools,
        fold_response=bedrock.fold_response,
    ),
}
"""The same dialects as `dialect.BUILT`."""


def read_request(body: bytes, endpoint: Endpoint, histories: Histories | None = None) -> WireRequest:
    """The request, with what only its path says: the model, and whether the answer is streamed.

    With `histories` what an earlier body already said is not parsed again; the result is the same.

    Raises:
        MalformedRequestError: The body is not what its endpoint takes.
        KeyError: The dialect has no codec (`dialect.recognise` names none such).
    """
    codec = CODECS[endpoint.dialect]
    if histories is None or codec.read_document is None:
        request = codec.parse_request(body)
    else:
        request = codec.read_document(_loads(histories, body, codec.messages_key))
    if endpoint.model is None and not endpoint.is_streaming:
        return request
    return dataclasses.replace(
        request,
        model=request.model or endpoint.model,
        is_streaming=request.is_streaming or endpoint.is_streaming,
    )


def learn_request(body: bytes, request: WireRequest, histories: Histories) -> None:
    """Has the histories remember a request that `read_request` gave."""
    codec = CODECS[request.dialect]
    if codec.read_document is not None:
        histories.learn(body, request.document, codec.messages_key)


def read_again(body: bytes, dialect: Dialect, histories: Histories) -> Any:
    """The parsed body, of which the histories know the beginning and remember the rest: `jsontext.loads`, but that only
    bytes are parsed which no body before had there. It may share objects with these.

    Raises:
        ValueError: It is not JSON, or nested beyond what can be parsed.
        KeyError: The dialect has no codec.
    """
    key = CODECS[dialect].messages_key
    document = histories.loads(body, key)
    histories.learn(body, document, key)
    return document


def _loads(histories: Histories, body: bytes, key: str) -> Any:
    try:
        return histories.loads(body, key)
    except ValueError as fault:
        raise MalformedRequestError(f"not JSON: {fault}") from fault


def fold_exchange(exchange: Exchange, dialect: Dialect, request: WireRequest | None = None) -> WireResponse:
    """The exchange's response. Where it is cut, the error says who went away: `client_gone`, else `stream_cut`.

    `request` is the exchange's own, where it could be parsed; without it, calls of some dialects stay without ids.

    Raises:
        KeyError: The dialect has no codec (`dialect.recognise` names none such).
    """
    codec = CODECS[dialect]
    response = codec.fold_response(
        exchange.response_body,
        exchange.response_header("content-type") or "",
        exchange.status_code,
        exchange.is_cut,
    )
    if request is not None and codec.with_call_ids is not None:
        response = codec.with_call_ids(response, request)
    if exchange.end is End.CLIENT_GONE and response.error and response.error.type in (STREAM_CUT, "connection"):
        return dataclasses.replace(response, error=dataclasses.replace(response.error, type="client_gone"))
    return response
