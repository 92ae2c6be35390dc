"""`proxy-status.json`, rewritten once a second: what the proxy counted, how far behind it is, what it costs.

Keys: `pid`, `version`, `started_at_ns`, `written_at_ns`, `listening`, `ca` (SHA-256 of the CA
certificate that it began with), `counters` (name → reason → count, see
`counters`), `lag` (`event_loop_ms`, `recorder_ms`, `delivery_s`), `queue_bytes`, `held` (`exchanges`, `bytes`),
`spool` (`bytes`, `records`, `segments`, `oldest_time_ns`), `delivery_trouble` ('' or why the collector cannot be
reached), `overhead_ns` (`count`, `p50`, `p90`, `p99`, `max` over the newest 512 requests), `agents` (harness →
`count`, `last_time_ns`), `running` (exchanges), `connections`, `resident_bytes`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore import private_file

INTERVAL_S: Final = 1.0

type Document = Mapping[str, Any]

_log = logging.getLogger(__name__)


class StatusFile:
    """Writes what `describe` says, with the event loop's own delay, until cancelled."""

    def __init__(self, path: Path, describe: Callable[[], Document], *, interval_s: float = INTERVAL_S) -> None:
        self._path = path
        self._describe = describe
        self._interval_s = interval_s
        self._is_unwritable = False

    async def run(self) -> None:
        """Writes every interval."""
        lag_ms = 0.0
        while True:
            self.write(lag_ms)
            due = time.monotonic() + self._interval_s
            await asyncio.sleep(self._interval_s)
            lag_ms = max(time.monotonic() - due, 0.0) * 1e3

    def write(self, lag_ms: float = 0.0) -> None:
        """Writes now. A disk that takes nothing is logged once: the proxy's work does not depend on this file."""
        document = dict(self._describe())
        document["lag"] = {"event_loop_ms": round(lag_ms, 3), **document.get("lag", {})}
        try:
            private_file.replace(self._path, orjson.dumps(document, option=orjson.OPT_INDENT_2))
            self._is_unwritable = False
        except OSError as error:
            if not self._is_unwritable:
                _log.warning("status cannot be written: %s", error)
            self._is_unwritable = True


def read_status(path: Path) -> dict[str, Any]:
    """The last status written; empty when there is none."""
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}
