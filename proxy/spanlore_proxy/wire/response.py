"""WireResponse: what a dialect's fold makes of a response, whole or cut, answer or error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spanlore.genai.inference import InferenceError, Usage
from spanlore.genai.messages import Message

STREAM_CUT = "stream_cut"
"""`InferenceError.type` of a response that ended before the provider said so."""
MALFORMED_RESPONSE = "malformed_response"
"""`InferenceError.type` of a response that is not what its endpoint answers."""


@dataclass(frozen=True, slots=True)
class WireResponse:
    """One response. Equal bytes give equal values, however they were chunked."""

    output: tuple[Message, ...] = ()
    """The answer as far as it arrived; one message a choice."""
    finish_reasons: tuple[str, ...] = ()
    """stop, length, content_filter, tool_call, error (`semconv.gen_ai.FINISH_*`)."""
    usage: Usage = field(default_factory=Usage)
    response_id: str | None = None
    response_model: str | None = None
    error: InferenceError | None = None
    is_complete: bool = True
    """The provider said that this is the end. An error it sent in full is complete, too."""
    unknown_events: tuple[str, ...] = ()
    """`event:NAME`, `block:TYPE`, `delta:TYPE`, `stop_reason:NAME`: not known to this version, once for each time."""
    raw_output: dict[str, Any] | None = None
    """The assistant's message in the provider's own shape, as a client would echo it; None when there was none."""
    stop_reason: str | None = None
    """The provider's own word for why it stopped (`end_turn`, `pause_turn`, `model_context_window_exceeded`)."""
