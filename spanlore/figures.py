"""How numbers are written for people: short, with their unit, '–' where unknown."""

from __future__ import annotations

from typing import Any

UNKNOWN = "–"


def duration(nanoseconds: Any) -> str:
    """`850 ms`, `12.3 s`, `4 min 10 s`, `2 h 5 min`."""
    if nanoseconds is None:
        return UNKNOWN
    seconds = int(nanoseconds) / 1e9
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def count(value: Any) -> str:
    """With thousands separated: `12,345`."""
    return UNKNOWN if value is None else f"{int(value):,}"


def short_count(value: Any) -> str:
    """In a narrow column: `950`, `12.3k`, `4.5M`."""
    if value is None:
        return UNKNOWN
    number = int(value)
    for limit, unit in ((1_000_000, "M"), (10_000, "k")):
        if number >= limit:
            return f"{number / (1_000_000 if unit == 'M' else 1000):.1f}{unit}"
    return f"{number:,}"


def cost(value: Any) -> str:
    """US dollars to a hundredth of a cent; a price that is not known is never shown as 0."""
    return UNKNOWN if value is None else f"${float(value):.4f}"


def several(number: Any, word: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{count(number)} {word}" if int(number) == 1 else f"{count(number)} {word}s"


def one_line(text: Any, limit: int) -> str:
    """The text on one line of at most `limit` characters."""
    flat = " ".join(str(text or "").split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
