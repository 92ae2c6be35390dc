"""Resident memory while a proxy works for long: it has to stay where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.load import Target, lines, requests_per_s

SIZE_BYTES: Final = 200_000
CONNECTIONS: Final = 4
PARTS: Final = 10
"""Readings, spread evenly over the exchanges."""
SETTLE_S: Final = 2.5
"""The proxy writes its figures once a second."""
MB: Final = 1_000_000


async def soak(target: Target, exchanges: int, resident_bytes: Callable[[], dict[str, int]]) -> dict[str, Any]:
    """Resident megabytes by process after each tenth of the exchanges, and by how much they rise. Each part is
    conversations of its own, as a day of work is."""
    readings: list[dict[str, int]] = []
    for part in range(PARTS):
        each = max(exchanges // PARTS // CONNECTIONS, 1)
        talks = [conversation(SIZE_BYTES, each, n, f"soak-{part}-{n}") for n in range(CONNECTIONS)]
        async with lines([target], CONNECTIONS) as (line,):
            await requests_per_s(line, talks)
        await asyncio.sleep(SETTLE_S)
        readings.append(resident_bytes())
    names = sorted(readings[0])
    row: dict[str, Any] = {"what": f"resident memory over {exchanges} exchanges of 200 KB"}
    for name in names:
        series = [round(reading[name] / MB, 1) for reading in readings]
        row[f"{name} mb"] = series
        row[f"{name} highest_mb"] = max(series)
        row[f"{name} rise_mb"] = rise(series)
    return row


def rise(series: list[float]) -> float:
    """The median of the last third over that of the second third: the first is warming up."""
    third = max(len(series) // 3, 1)
    later, before = sorted(series[-third:]), sorted(series[-2 * third : -third] or series[:third])
    return round(later[len(later) // 2] - before[len(before) // 2], 1)
