"""Whether agents cost more than their user wants to spend. It warns; nothing is ever stopped for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene, StoreSilentError

NEARLY: Final = 0.8

_SPENT: Final = """
SELECT toFloat64(ifNull(sum(cost), 0)) AS today, toFloat64(ifNull(max(cost), 0)) AS dearest,
       argMax(session_id, ifNull(cost, 0)) AS session, sum(unpriced) AS unpriced
FROM
(
    SELECT session_id, sum(cost_usd) AS cost, countIf(cost_usd IS NULL AND input_tokens > 0) AS unpriced
    FROM inferences WHERE start_time >= fromUnixTimestamp64Nano(toInt64({since})) GROUP BY session_id
)
"""


def budget(scene: Scene) -> Iterator[Finding]:
    """What today's calls cost against the budgets of the settings; silent where none is set."""
    limits = scene.settings.budget
    if not (limits.usd_per_day or limits.usd_per_session):
        return
    try:
        [row] = scene.rows(_SPENT.replace("{since}", str(midnight_ns(scene.now_ns))))
    except StoreSilentError:
        return  # `store` says it
    today, dearest = float(row["today"]), float(row["dearest"])
    without = f"; {row['unpriced']} calls have no known price (SPANLORE_PRICES)" if int(row["unpriced"]) else ""
    if limits.usd_per_day:
        says = f"today's calls cost ${today:.2f} of ${limits.usd_per_day:.2f} (budget.usd_per_day){without}"
        share = today / limits.usd_per_day
        severity = Severity.WARNING if share > 1 else Severity.NOTE if share > NEARLY else Severity.OK
        yield Finding("budget", severity, says, "spanlore cost" if severity else "")
    if limits.usd_per_session and dearest > limits.usd_per_session:
        says = f"session {row['session'][:8]} costs ${dearest:.2f} of ${limits.usd_per_session:.2f} today"
        yield Finding("budget", Severity.WARNING, says, f"spanlore session {row['session'][:8]}")


def midnight_ns(now_ns: int) -> int:
    """When today began on this machine's clock."""
    now = datetime.fromtimestamp(now_ns / 1e9, UTC).astimezone()
    return int(now.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()) * 10**9
