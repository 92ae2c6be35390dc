"""Why Gemini stopped → the GenAI convention's finish reasons. Sources: FinishReason and BlockReason of the Gemini API
and of Vertex AI (google.ai.generativelanguage, google.cloud.aiplatform)."""

from __future__ import annotations

from typing import Any, Final

from spanlore.semconv import gen_ai

BLOCKED: Final = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
        "MODEL_ARMOR",
        "JAILBREAK",
        "OTHER",
        "BLOCKED_REASON_UNSPECIFIED",
        "BLOCK_REASON_UNSPECIFIED",
    }
)
"""Reasons for which a prompt or an answer is withheld."""

FINISH_REASONS: Final = {
    **dict.fromkeys(BLOCKED, gen_ai.FINISH_CONTENT_FILTER),
    "STOP": gen_ai.FINISH_STOP,
    "MAX_TOKENS": gen_ai.FINISH_LENGTH,
    "OTHER": gen_ai.FINISH_ERROR,
    "IMAGE_OTHER": gen_ai.FINISH_ERROR,
    "NO_IMAGE": gen_ai.FINISH_ERROR,
    "MALFORMED_FUNCTION_CALL": gen_ai.FINISH_ERROR,
    "MALFORMED_RESPONSE": gen_ai.FINISH_ERROR,
    "UNEXPECTED_TOOL_CALL": gen_ai.FINISH_ERROR,
    "TOO_MANY_TOOL_CALLS": gen_ai.FINISH_ERROR,
    "MISSING_THOUGHT_SIGNATURE": gen_ai.FINISH_ERROR,
    "FINISH_REASON_UNSPECIFIED": gen_ai.FINISH_ERROR,
}

KNOWN_REASONS: Final = frozenset({*FINISH_REASONS.values(), gen_ai.FINISH_TOOL_CALL})

NUMBERS: Final = ("FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER")
"""With `enum-encoding=int`, as clients made from the protobuf definitions ask for; the numbers on which both APIs
agree."""


def reason_name(reason: Any) -> str:
    """The provider's word for a reason, also where it came as a number; '' when there is none."""
    if isinstance(reason, bool) or reason is None:
        return ""
    if isinstance(reason, int):
        return NUMBERS[reason] if 0 <= reason < len(NUMBERS) else f"FINISH_REASON_{reason}"
    return reason if isinstance(reason, str) else ""


def finish_reason_of(reason: Any, parts: list[dict[str, Any]]) -> str | None:
    """The convention's finish reason; an unknown one stays as it is; None when there is none.

    Gemini says STOP when it asks for tools, too.
    """
    name = reason_name(reason)
    if not name:
        return None
    if name == "STOP" and any("functionCall" in part for part in parts):
        return gen_ai.FINISH_TOOL_CALL
    return FINISH_REASONS.get(name, name)
