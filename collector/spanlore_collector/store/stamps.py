"""When a row was written, as rows tell it: `ingested_at`, by which mining knows what is new.

A time that never goes back, whatever the clock does. Mining remembers the newest stamp it has seen and asks for later
ones; under the clock's own time, what is written after a clock was set back would hide below that until the clock has
caught up. So a stamp is the clock's time, unless that is not later than the newest stamp of the store: then stamps go
on from there, at half the speed of time, so that a clock that was an hour ahead is caught up with in two, and one that
once was years ahead leaves stamps that still tell minutes apart. Nothing is kept or deleted by a stamp alone.
"""

from __future__ import annotations

import threading
from typing import Final

from clickhouse_connect.driver.client import Client

LOOK_AGAIN_NS: Final = 60 * 10**9
"""How often a collector that writes looks what others have written to the same store (nanoseconds). What it stamps
in between lags by half of that at most, and mining looks further back."""
_SLOWER: Final = 2


class Stamps:
    """The stamps of one collector. For several threads."""

    def __init__(self, newest_ms: int, monotonic_ns: int) -> None:
        """`newest_ms` is the newest stamp in the store, milliseconds since the epoch; the other a clock nobody sets."""
        self._last_ms = newest_ms
        self._at_ns = monotonic_ns
        self._looked_ns = monotonic_ns
        self._lock = threading.Lock()

    def next_ms(self, now_ns: int, monotonic_ns: int) -> int:
        """The stamp of a batch, later than every one before; `now_ns` is the wall clock's."""
        with self._lock:
            passed_ms = (monotonic_ns - self._at_ns) // (_SLOWER * 1_000_000)
            self._last_ms = max(now_ns // 1_000_000, self._last_ms + max(passed_ms, 1))
            self._at_ns = monotonic_ns
            return self._last_ms

    def look_again(self, client: Client, monotonic_ns: int) -> None:
        """Takes note, once in `LOOK_AGAIN_NS`, of later stamps that another collector wrote."""
        if monotonic_ns - self._looked_ns < LOOK_AGAIN_NS:
            return
        newest_ms = newest_stamp_ms(client)
        with self._lock:
            self._looked_ns = monotonic_ns
            self._last_ms = max(self._last_ms, newest_ms)


def newest_stamp_ms(client: Client) -> int:
    """The newest stamp of any span in the store, in milliseconds since the epoch; 0 in an empty one."""
    sql = "SELECT toUnixTimestamp64Milli(max(ingested_at)) FROM session_facts"
    return int(client.query(sql).result_rows[0][0])
