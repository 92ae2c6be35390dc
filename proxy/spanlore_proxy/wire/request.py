"""WireRequest: a request's body, parsed but not yet decoded.

Messages stay raw until it is known which of them are new: an agent resends its whole past with every call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from spanlore.genai.inference import Dialect, RequestParameters


class MalformedRequestError(ValueError):
    """The client's body is not what its endpoint takes. The exchange is still recorded, as bytes and times."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """One request. `document` and everything in it is shared, not copied: nobody may change it."""

    dialect: Dialect
    document: dict[str, Any]
    """The whole body, parsed."""
    model: str | None
    is_streaming: bool
    parameters: RequestParameters = field(default_factory=RequestParameters)
    raw_messages: list[dict[str, Any]] = field(default_factory=list)
    """The conversation, each message in the provider's own shape."""
    raw_system: Any = None
    """The system prompt in the provider's own shape (string, list of blocks, None)."""
    raw_tools: list[Any] = field(default_factory=list)


def integer(value: Any) -> int | None:
    """The value if it is an integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """The value as a float if it is a number."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
