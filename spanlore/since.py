"""Times and lengths of time as people type them: `90m`, `12h`, `7d`, `2w`, or a date. Pure."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import Final

_LENGTH: Final = re.compile(r"(\d{1,6})\s*([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def since_ns(text: str, now_ns: int, zone: tzinfo | None = None) -> int:
    """Nanoseconds since the epoch of a time, or of so long ago; 0 of an empty text. Dates without an offset are this
    machine's, or `zone`'s.

    Raises:
        ValueError: neither a duration nor a date.
    """
    if not text.strip():
        return 0
    ago_ns = length_ns(text)
    if ago_ns is not None:
        return now_ns - ago_ns
    try:
        at = datetime.fromisoformat(text.strip())
        at = at if at.tzinfo else at.replace(tzinfo=zone) if zone else at.astimezone()
        return int(at.timestamp() * 1e9)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text!r} is neither like 90m, 12h, 7d, 2w nor a date like 2026-11-30") from None


def length_ns(text: str) -> int | None:
    """Nanoseconds of a length of time; None when it is none."""
    found = _LENGTH.fullmatch(text.strip().lower())
    return int(found[1]) * _SECONDS[found[2]] * 10**9 if found else None
