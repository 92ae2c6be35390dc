"""One exchange, folded → Inference: the parts that need no knowledge of the conversation."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.inference import Inference, InferenceError
from spanlore.genai.messages import Message, Part, ToolCall, ToolDefinition
from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.wire.exchange import End, Exchange
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import STREAM_CUT, WireResponse

MARKED_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
    """One exchange that is over, and all that the earlier stages found out about it."""

    exchange: Exchange
    request: WireRequest | None
    response: WireResponse
    identity: Identity
    workplace: Workplace
    injected: Injected

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tools that the answer asks for."""
        return tuple(part for message in self.response.output for part in message.parts if isinstance(part, ToolCall))

    def has_output(self) -> bool:
        """The model said something, though perhaps not all of it."""
        return any(message.parts for message in self.response.output)

    def has_failed(self) -> bool:
        """The exchange brought no answer, or only part of one."""
        return self.response.error is not None or not self.response.is_complete

    def was_abandoned(self) -> bool:
        """The client went away before the answer was whole."""
        return self.exchange.end is End.CLIENT_GONE and not self.response.is_complete

    def body_mark(self) -> str:
        """Tells two bodies of one conversation apart, whose messages are told apart by their digests: of a long one by
        its ends, where everything else stands."""
        body = self.exchange.request_body
        if len(body) <= 2 * MARKED_BYTES:
            return f"{len(body)}:{zlib.crc32(body):08x}"
        ends = zlib.crc32(body[-MARKED_BYTES:], zlib.crc32(body[:MARKED_BYTES]))
        return f"{len(body)}:{ends:08x}"

    def request_seed(self, chain_hash: str) -> str:
        """What the chat span's id is made of: the response id, else the messages and the time they were sent."""
        return self.response.response_id or f"{chain_hash}:{self.exchange.start_time_ns}"


@dataclass(frozen=True, slots=True)
class Content:
    """What is new in a request."""

    new_from: int = 0
    messages: tuple[Message, ...] = ()
    system: tuple[Part, ...] = ()
    system_hash: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    tools_hash: str | None = None


def make_inference(seen: Seen, content: Content) -> Inference:
    """The inference of an exchange."""
    exchange, request, response, identity = seen.exchange, seen.request, seen.response, seen.identity
    base = Inference(
        dialect=request.dialect if request is not None else identity.dialect,
        provider=identity.provider,
        operation=identity.operation,
        request_model=request.model if request is not None else None,
        start_time_ns=exchange.start_time_ns,
        end_time_ns=exchange.end_time_ns,
        is_streaming=request is not None and request.is_streaming,
        first_chunk_time_ns=exchange.first_chunk_time_ns,
        response_model=response.response_model,
        response_id=response.response_id,
        provider_request_id=exchange.response_header("request-id") or exchange.response_header("x-request-id"),
        client_request_id=exchange.header("x-client-request-id"),
        system=content.system,
        system_hash=content.system_hash,
        tools=content.tools,
        tools_hash=content.tools_hash,
        message_count=len(request.raw_messages) if request is not None else 0,
        new_from=content.new_from,
        new_messages=content.messages,
        output=response.output,
        finish_reasons=response.finish_reasons,
        usage=response.usage,
        error=_error(seen),
        is_complete=response.is_complete,
        status_code=exchange.status_code,
        unknown_events=response.unknown_events,
        server_address=exchange.host,
        server_port=exchange.port,
        request_bytes=len(exchange.request_body),
        response_bytes=len(exchange.response_body),
    )
    return replace(base, parameters=request.parameters) if request is not None else base


def _error(seen: Seen) -> InferenceError | None:
    """The response's error; a cut stream says who cut it."""
    error, end = seen.response.error, seen.exchange.end
    if error is None or error.type not in (STREAM_CUT, "connection"):
        return error
    if end is End.CLIENT_GONE:
        return InferenceError("client_gone", "the client closed the connection before the answer was whole")
    if end is End.UPSTREAM_UNREACHABLE:
        return InferenceError("connection", error.message, error.status_code)
    return error
