"""How spanlore itself is: is everything captured, what was dropped and why, what it costs on the request path.

The proxy's own word is the file that it rewrites once a second; a container that holds only the page has none, and then
that part says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from spanlore.settings import Paths
from spanlore_collector.store.views import Row, RowSource

SILENT_NS: Final = 10 * 10**9
"""The proxy reports once a second; after this long it is taken for silent."""
REASONS: Final = {
    "nothing": "nothing to say",
    "side_call": "calls on the side",
    "late": "first seen in the middle",
    "subagent": "sub-agents",
    "client_block": "the client carries the block",
    "attested": "signed by the client",
}
"""Reason → words, where the reason is not one already."""
DROPS: Final = (
    ("lost", "Lost: could not be captured or kept"),
    ("stripped", "Kept without its content, since the spool was full"),
    ("passthrough", "Passed through untouched because of a fault of ours"),
    ("cut_off", "Under way when the proxy was killed: the agent saw the connection break"),
    ("not_captured", "Left out on purpose"),
    ("skipped", "Nothing was injected"),
    ("degraded", "Conveniences of ours that failed"),
    ("retried", "Deliveries that had to be repeated"),
)


@dataclass(frozen=True, slots=True)
class Process:
    """One of the daemon's."""

    name: str
    pid: int
    alive: bool
    memory_mb: int
    restarts: int


@dataclass(frozen=True, slots=True)
class Capture:
    """What the proxy says of itself."""

    heartbeat_age_ns: int | None
    """Since its last report; None when it never gave one."""
    captured: int
    shipped: int
    waiting: int
    lost: int
    delivery_trouble: str
    drops: dict[str, dict[str, int]]
    """Counter → reason → count, of `DROPS`."""
    overhead_ns: dict[str, int]
    """p50, p90, p99, max and count over the newest requests."""
    agents: dict[str, dict[str, int]]
    """Harness → count, last_time_ns."""
    lag: dict[str, float] = field(default_factory=dict)

    @property
    def is_silent(self) -> bool:
        """Whether the proxy has not reported lately."""
        return self.heartbeat_age_ns is None or self.heartbeat_age_ns > SILENT_NS

    @property
    def is_complete(self) -> bool:
        """Whether everything that was captured is stored, and nothing was lost."""
        return not self.waiting and not self.lost

    @property
    def share(self) -> float | None:
        """Share of what went by that is in the store, 0 to 1; None before the first exchange."""
        seen = self.captured + self.lost
        return min(1.0, self.shipped / seen) if seen else None


def read_capture(paths: Paths, now_ns: int) -> Capture:
    """From the proxy's status file."""
    document = _object(paths.proxy_status_file)
    counters = {name: dict(reasons) for name, reasons in _mapping(document.get("counters")).items()}
    totals = {name: sum(counters.get(name, {}).values()) for name in ("captured", "shipped", "lost")}
    written = document.get("written_at_ns")
    return Capture(
        heartbeat_age_ns=max(0, now_ns - int(written)) if written else None,
        waiting=int(_mapping(document.get("spool")).get("records", 0)),
        delivery_trouble=str(document.get("delivery_trouble") or ""),
        drops={name: _counted(counters.get(name, {})) for name, _ in DROPS},
        overhead_ns={name: int(value) for name, value in _mapping(document.get("overhead_ns")).items()},
        agents={name: dict(value) for name, value in _mapping(document.get("agents")).items()},
        lag={name: float(value) for name, value in _mapping(document.get("lag")).items()},
        **totals,
    )


def read_processes(paths: Paths) -> list[Process]:
    """Of the daemon that runs here; empty where none does."""
    daemon = _object(paths.daemon_file)
    listed = [{"name": "supervisor", "pid": daemon.get("pid", 0), "restarts": 0}] if daemon.get("processes") else []
    return [
        _process(str(item["name"]), int(item["pid"]), int(item["restarts"]))
        for item in (*listed, *daemon.get("processes", ()))
    ]


def read_pace(source: RowSource, since_ns: int) -> list[Row]:
    """By harness: calls, when the last was captured, and percentiles of our overhead and of the first token's time,
    in nanoseconds."""
    return source.rows(
        "SELECT harness, count() AS calls, uniq(session_id) AS sessions, "
        "toUnixTimestamp64Nano(max(end_time)) AS last_time_ns, countIf(error_type != '') AS errors, "
        "quantiles(0.5, 0.9, 0.99)(overhead_ns) AS overhead_ns, "
        "quantilesIf(0.5, 0.9, 0.99)(ifNull(ttft_ns, 0), ttft_ns IS NOT NULL) AS ttft_ns "
        "FROM inferences WHERE source = 'wire' AND start_time >= fromUnixTimestamp64Nano({since:Int64}) "
        "GROUP BY harness ORDER BY calls DESC LIMIT 50",
        {"since": since_ns},
    )


def read_overhead(source: RowSource, since_ns: int) -> dict[str, int]:
    """{p50, p90, p99, count} of what was added to requests, nanoseconds; empty without any. For a proxy that has just
    started and has no requests of its own yet."""
    (row,) = source.rows(
        "SELECT count() AS count, quantiles(0.5, 0.9, 0.99)(overhead_ns) AS found FROM inferences "
        "WHERE source = 'wire' AND overhead_ns > 0 AND start_time >= fromUnixTimestamp64Nano({since:Int64})",
        {"since": since_ns},
    )
    if not row["count"]:
        return {}
    p50, p90, p99 = (int(value) for value in row["found"])
    return {"p50": p50, "p90": p90, "p99": p99, "count": int(row["count"])}


def read_overhead_by_hour(source: RowSource, since_ns: int) -> list[Row]:
    """{hour_s, calls, p50_ns, p99_ns}, in order."""
    return source.rows(
        "SELECT toUnixTimestamp(toStartOfHour(start_time)) AS hour_s, count() AS calls, "
        "toUInt64(quantile(0.5)(overhead_ns)) AS p50_ns, toUInt64(quantile(0.99)(overhead_ns)) AS p99_ns "
        "FROM inferences WHERE source = 'wire' AND start_time >= fromUnixTimestamp64Nano({since:Int64}) "
        "GROUP BY hour_s ORDER BY hour_s",
        {"since": since_ns},
    )


def _process(name: str, pid: int, restarts: int) -> Process:
    try:
        process = psutil.Process(pid) if pid else None
        alive = process is not None and process.status() != psutil.STATUS_ZOMBIE
        memory_mb = process.memory_info().rss // 1024**2 if process is not None and alive else 0
    except psutil.Error:
        alive, memory_mb = False, 0
    return Process(name, pid, alive, memory_mb, restarts)


def _object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _counted(reasons: Mapping[str, Any]) -> dict[str, int]:
    found = {str(name): int(count) for name, count in reasons.items() if count}
    return dict(sorted(found.items(), key=lambda item: -item[1]))
