"""A response object in the provider's own shape, whole or as far as it came → WireResponse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spanlore.genai.inference import InferenceError
from spanlore.genai.messages import Message, Part, Role, ToolCall
from spanlore.semconv import gen_ai
from spanlore_proxy.wire.openai_chat.parts import string
from spanlore_proxy.wire.openai_errors import cut_error, read_error
from spanlore_proxy.wire.openai_responses.items import decode_items
from spanlore_proxy.wire.openai_responses.kinds import KNOWN_CONTENT, KNOWN_ITEMS, kind_of
from spanlore_proxy.wire.openai_usage import decode_usage
from spanlore_proxy.wire.response import WireResponse

INCOMPLETE: Final = {
    "max_output_tokens": gen_ai.FINISH_LENGTH,
    "max_tokens": gen_ai.FINISH_LENGTH,
    "length": gen_ai.FINISH_LENGTH,
    "content_filter": gen_ai.FINISH_CONTENT_FILTER,
}
"""incomplete_details.reason → the GenAI convention's finish reason. An unknown one is kept, and counted."""
_UNDER_WAY: Final = frozenset({"in_progress", "queued"})
"""Background mode: the request is answered before the model has said anything; the client asks for the rest by GET."""
_STATUSES: Final = frozenset({"", "completed", "incomplete", "failed", "cancelled", *_UNDER_WAY})


def decode_answer(
    response: dict[str, Any],
    is_complete: bool,
    *,
    error: InferenceError | None = None,
    unknown: Sequence[str] = (),
) -> WireResponse:
    """The response that this object is. A compaction (`/responses/compact`) is one, too."""
    output = response.get("output")
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    parts = decode_items(items)
    status = string(response.get("status"))
    if error is None and response.get("error"):
        error = read_error(response, None)
    if error is None and is_complete and status in ("failed", "cancelled"):
        error = InferenceError(status)
    if error is None and not is_complete:
        error = cut_error()
    details = response.get("incomplete_details")
    stated = string(details.get("reason")) if isinstance(details, dict) else ""
    if not stated and error is None and status in _UNDER_WAY:
        stated = status
    reason = _finish_reason(stated, parts, error)
    return WireResponse(
        output=(Message(Role.ASSISTANT, parts, reason),),
        finish_reasons=(reason,),
        usage=decode_usage(response.get("usage")),
        response_id=string(response.get("id")) or None,
        response_model=string(response.get("model")) or None,
        error=error,
        is_complete=is_complete,
        unknown_events=(*unknown, *_unknown_words(items, status, stated)),
        raw_output={"role": "assistant", "content": items},
        stop_reason=stated or status or None,
    )


def _finish_reason(stated: str, parts: tuple[Part, ...], error: InferenceError | None) -> str:
    if stated:
        return INCOMPLETE.get(stated, stated)
    if error is not None:
        return gen_ai.FINISH_ERROR
    is_asking = any(isinstance(part, ToolCall) for part in parts)
    return gen_ai.FINISH_TOOL_CALL if is_asking else gen_ai.FINISH_STOP


def _unknown_words(items: list[dict[str, Any]], status: str, stated: str) -> list[str]:
    unknown = [f"block:{kind}" for item in items if (kind := kind_of(item)) not in KNOWN_ITEMS]
    for item in items:
        content = item.get("content")
        for part in content if isinstance(content, list) and kind_of(item) in ("message", "reasoning") else ():
            type_ = part.get("type") if isinstance(part, dict) else None
            if type_ not in KNOWN_CONTENT:
                unknown.append(f"block:{type_}")
    if status not in _STATUSES:
        unknown.append(f"status:{status}")
    if stated and stated not in INCOMPLETE and stated not in _UNDER_WAY:
        unknown.append(f"stop_reason:{stated}")
    return unknown
