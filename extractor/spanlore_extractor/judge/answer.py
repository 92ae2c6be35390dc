"""What an answer of the model is, and what it cost. Without the SDK, which is loaded only where a model is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_OUTPUT_TOKENS: Final = 600
MAX_ANSWER_BYTES: Final = 256 * 1024


class UnavailableError(RuntimeError):
    """The API can't or won't answer now. The message says why; `retry_after_s` when it said itself."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Cost:
    """What a call cost."""

    model: str
    input_tokens: int
    """Cache reads and writes included."""
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    usd: float | None
    """None: the model's price is not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; `data` is the input of the tool call, or the fault is in `fault`."""

    cost: Cost
    data: object = None
    fault: str = ""
