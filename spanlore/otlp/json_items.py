"""OTLP/JSON looked at item by item, so that a bad field costs its own span and not the batch around it. Pure.

Source: OTLP specification, "Partial Success": what can't be taken is rejected by number, with why, and not sent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.json_format import ParseError

FAULTS: Final = (ValueError, TypeError, AttributeError, ParseError)
"""What reading JSON of another shape raises."""


@dataclass(slots=True)
class Rejected:
    """Items of a request that can't be read: spans, log records or data points."""

    count: int = 0
    why: str = ""
    """Of the first."""

    def add(self, error: BaseException, count: int = 1) -> None:
        """Counts so many."""
        self.count += count
        self.why = self.why or f"can't be read: {str(error)[:300]}"


def readable(items: Iterable[Any], read: Callable[[Any], object], rejected: Rejected) -> list[Any]:
    """The items that `read` takes without a fault; it may change them."""
    kept = []
    for item in items:
        try:
            read(item)
        except FAULTS as error:
            rejected.add(error)
        else:
            kept.append(item)
    return kept
