"""One codec per dialect, so that whoever handles exchanges need not know dialects by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai.inference import Dialect
from spanlore.genai.messages import Message, Part, ToolDefinition
from spanlore_proxy.wire import anthropic
from spanlore_proxy.wire.exchange import End, Exchange
from spanlore_proxy.wire.request import WireRequest
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


CODECS: Final[dict[Dialect, Codec]] = {
    Dialect.ANTHROPIC_MESSAGES: Codec(
        parse_request=anthropic.parse_request,
        message_digest=anthropic.message_digest,
        decode_message=anthropic.decode_message,
        decode_system=anthropic.decode_system,
        decode_tools=anthropic.decode_tools,
        fold_response=anthropic.fold_response,
    ),
}
"""The same dialects as `dialect.BUILT`."""


def fold_exchange(exchange: Exchange, dialect: Dialect) -> WireResponse:
    """The exchange's response. Where it is cut, the error says who went away: `client_gone`, else `stream_cut`.

    Raises:
        KeyError: The dialect has no codec (`dialect.recognise` names none such).
    """
    response = CODECS[dialect].fold_response(
        exchange.response_body,
        exchange.response_header("content-type") or "",
        exchange.status_code,
        exchange.is_cut,
    )
    if exchange.end is End.CLIENT_GONE and response.error and response.error.type in (STREAM_CUT, "connection"):
        return dataclasses.replace(response, error=dataclasses.replace(response.error, type="client_gone"))
    return response
