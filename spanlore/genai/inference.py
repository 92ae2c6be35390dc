"""One decoded model call.

An `Inference` is what a dialect's fold makes of one exchange. It holds only the messages that were new in the
request (`new_messages`), since every request of an agent resends the whole past; `message_count` says how many there
were. Times are integer nanoseconds since the epoch. Token counts follow the GenAI convention: input includes cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from spanlore.genai.messages import Message, Part, ToolDefinition


class Dialect(StrEnum):
    """One provider API's wire shape."""

    ANTHROPIC_MESSAGES = "anthropic_messages"
    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"
    GEMINI = "gemini"
    BEDROCK = "bedrock"
    """InvokeModel and Converse, whatever the model."""


class CallClass(StrEnum):
    """What a call was for. Only `MAIN` gets a session block; only `MAIN` and `SUBAGENT` are mined."""

    MAIN = "main"
    SUBAGENT = "subagent"
    TITLE = "title"
    COMPACTION = "compaction"
    COUNT_TOKENS = "count_tokens"
    PROBE = "probe"
    SIDE = "side"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts. None: the provider did not say."""

    input_tokens: int | None = None
    """Everything that went in, cache reads and writes included."""
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    """Part of `cache_write_tokens` with the one-hour lifetime."""
    reasoning_tokens: int | None = None
    """Part of `output_tokens`."""


@dataclass(frozen=True, slots=True)
class RequestParameters:
    """Sampling parameters as sent; None where absent."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: tuple[str, ...] = ()
    reasoning_level: str | None = None


@dataclass(frozen=True, slots=True)
class InferenceError:
    """Why a call failed: the provider's own code (`overloaded_error`), or `stream_cut`, `connection`, `client_gone`."""

    type: str
    message: str = ""
    status_code: int | None = None


@dataclass(frozen=True, slots=True)
class Inference:
    """One model call: what was new in the request, and what came back."""

    dialect: Dialect
    provider: str
    """gen_ai.provider.name: anthropic, openai, gcp.gemini, …"""
    operation: str
    """gen_ai.operation.name: chat or generate_content."""
    request_model: str | None
    start_time_ns: int
    end_time_ns: int
    is_streaming: bool = False
    first_chunk_time_ns: int | None = None
    """When the first body byte of the response arrived; None when none did."""
    response_model: str | None = None
    response_id: str | None = None
    provider_request_id: str | None = None
    client_request_id: str | None = None
    system: tuple[Part, ...] = ()
    system_hash: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    tools_hash: str | None = None
    message_count: int = 0
    new_from: int = 0
    """Index in the request of the first message in `new_messages`."""
    new_messages: tuple[Message, ...] = ()
    output: tuple[Message, ...] = ()
    """The answer; one message a choice, as far as it arrived."""
    finish_reasons: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    parameters: RequestParameters = field(default_factory=RequestParameters)
    error: InferenceError | None = None
    is_complete: bool = True
    """False when the stream ended before the provider said so; `error` then says `stream_cut` or the like."""
    status_code: int | None = None
    unknown_events: tuple[str, ...] = ()
    server_address: str = ""
    """The API's real host, not the proxy."""
    server_port: int = 443
    request_bytes: int = 0
    response_bytes: int = 0
