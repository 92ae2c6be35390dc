"""Times as people type them: `90m`, `12h`, `7d`, `2w`, or a date. Pure."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo
from typing import Final

_AGO: Final = re.compile(r"(\d{1,6})\s*([smhdw])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def since_ns(text: str, now_ns: int, zone: tzinfo | None = None) -> int:
    """Nanoseconds since the epoch; 0 of an empty text. Dates without an offset are this machine's, or `zone`'s.

    Raises:
        ValueError: neither a duration nor a date.
    """
    if not text.strip():
        return 0
    ago = _AGO.fullmatch(text.strip().lower())
    if ago:
        return now_ns - int(ago[1]) * _SECONDS[ago[2]] * 10**9
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is neither like 90m, 12h, 7d, 2w nor a date like 2026-11-30") from None
    at = at if at.tzinfo else at.replace(tzinfo=zone) if zone else at.astimezone()
    return int(at.timestamp() * 1e9)
