"""How numbers are written for people: short, with their unit, '–' where unknown."""

from __future__ import annotations

from collections.abc import Iterable
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


SMALLEST_USD = 0.0001


def cost(value: Any) -> str:
    """US dollars; below one to a hundredth of a cent. A price that is not known is never shown as 0."""
    if value is None:
        return UNKNOWN
    dollars = float(value)
    if 0 < dollars < SMALLEST_USD:
        return f"<${SMALLEST_USD}"
    return f"${dollars:,.2f}" if dollars >= 1 or dollars == 0 else f"${dollars:.4f}"


def scope_name(scope: str) -> str:
    """A scope key in a narrow place: `owner/name` of a remote, the last folder of a path."""
    if scope.startswith("path:"):
        return scope.rstrip("/").rpartition("/")[2]
    return scope.partition("/")[2] or scope


def distinct(ids: Iterable[str], least: int = 8) -> int:
    """How many characters of each id tell them all apart; `least` or more."""
    whole = set(ids)
    longest = max(map(len, whole), default=least)
    return next((size for size in range(least, longest) if len({id_[:size] for id_ in whole}) == len(whole)), longest)


def several(number: Any, word: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{count(number)} {word}" if int(number) == 1 else f"{count(number)} {word}s"


def size(value: Any) -> str:
    """`950 B`, `12.3 KB`, `4.5 MB`; bytes."""
    number = float(value or 0)
    for unit in ("B", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def one_line(text: Any, limit: int) -> str:
    """The text on one line of at most `limit` characters."""
    flat = " ".join(str(text or "").split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
