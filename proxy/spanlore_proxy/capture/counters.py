"""What the proxy counts, so that nothing is lost or skipped in silence.

A counter has a name and a reason. Names: `requests` (by kind), `captured` (records fsynced into the spool: exchanges,
and `idle_turn`s), `shipped` (records the collector acknowledged), `lost` (could not be captured or kept), `stripped`
(kept without its content), `cut_off` (under way when the proxy was killed: their clients saw the connection break),
`not_captured` (on purpose), `passthrough` (a fault of ours; the agent's bytes went out
untouched), `refused` (requests to a base URL that is none), `skipped` (why nothing was injected), `injected`
(requests), `prefix_changed` (requests whose beginning would have changed by our doing; stays 0), `tunnelled`
(connections never decrypted), `retried` (deliveries), `degraded` (a convenience of ours that failed: restart state,
request log).
Counters only grow; they are carried over a restart, so a loss does not vanish with the process that had it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

REQUESTS: Final = "requests"
CAPTURED: Final = "captured"
SHIPPED: Final = "shipped"
LOST: Final = "lost"
STRIPPED: Final = "stripped"
CUT_OFF: Final = "cut_off"
NOT_CAPTURED: Final = "not_captured"
PASSTHROUGH: Final = "passthrough"
REFUSED: Final = "refused"
SKIPPED: Final = "skipped"
INJECTED: Final = "injected"
PREFIX_CHANGED: Final = "prefix_changed"
TUNNELLED: Final = "tunnelled"
RETRIED: Final = "retried"
DEGRADED: Final = "degraded"

TOTAL: Final = "total"
"""The reason of a counter that has none."""
PROXY_KILLED: Final = "proxy_killed"
"""A reason of `lost`: answered, not yet durable when the proxy was killed, and not to be had back."""
MAX_REASONS: Final = 200
"""Of one counter; what comes on top is counted as `other`, so a hostile peer cannot grow the table."""


class Counters:
    """Counts by name and reason. Safe from any thread."""

    def __init__(self, restored: Mapping[str, Any] | None = None) -> None:
        """`restored` is the `counters` object of an earlier status file; what is no count in it is left out."""
        self._lock = threading.Lock()
        self._counts: dict[str, dict[str, int]] = {}
        for name, reasons in (restored or {}).items():
            if isinstance(reasons, dict):
                self._counts[name] = {str(key): value for key, value in reasons.items() if isinstance(value, int)}

    def add(self, name: str, reason: str = TOTAL, amount: int = 1) -> None:
        """Counts `amount` more."""
        with self._lock:
            reasons = self._counts.setdefault(name, {})
            if reason not in reasons and len(reasons) >= MAX_REASONS:
                reason = "other"
            reasons[reason] = reasons.get(reason, 0) + amount

    def count(self, name: str, reason: str | None = None) -> int:
        """How many so far; over all reasons when none is given."""
        with self._lock:
            reasons = self._counts.get(name, {})
            return sum(reasons.values()) if reason is None else reasons.get(reason, 0)

    def snapshot(self) -> dict[str, dict[str, int]]:
        """All counts: name → reason → count."""
        with self._lock:
            return {name: dict(sorted(reasons.items())) for name, reasons in sorted(self._counts.items())}


class Samples:
    """The newest measurements of one quantity, for percentiles. Used from one thread."""

    def __init__(self, size: int = 512) -> None:
        self._values: deque[int] = deque(maxlen=size)

    def add(self, value: int) -> None:
        self._values.append(value)

    def percentiles(self) -> dict[str, int]:
        """`count`, `p50`, `p90`, `p99` and `max` of the kept values; empty while there are none."""
        ordered = sorted(self._values)
        if not ordered:
            return {}
        last = len(ordered) - 1
        ranks = {"p50": 50, "p90": 90, "p99": 99, "max": 100}
        return {"count": len(ordered), **{name: ordered[last * rank // 100] for name, rank in ranks.items()}}
