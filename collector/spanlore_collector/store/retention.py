"""How long rows are kept, as TTLs of the tables, and the pruning of content that nothing names any more.

Three tiers: *raw* (spans, logs, metrics, message parts with their content), *rows* (inferences, tool calls, turns, what
was typed, opportunities), and what was learnt from them, which has a life of its own (memories) and no TTL. Content is
shared by hash, so it has no TTL either: it goes when no part of a message names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client

from spanlore_collector.store.backfill import BEFORE, bound_merges_of, is_moving
from spanlore_collector.store.client import is_out_of_memory
from spanlore_collector.store.cluster import local_name, on_cluster

RAW = {
    "otel_traces": "Timestamp",
    "otel_traces_trace_id_ts": "End",
    "otel_logs": "Timestamp",
    "otel_metrics_gauge": "TimeUnix",
    "otel_metrics_sum": "TimeUnix",
    "otel_metrics_histogram": "TimeUnix",
    "otel_metrics_exponential_histogram": "TimeUnix",
    "otel_metrics_summary": "TimeUnix",
    "message_parts": "time",
}
ROWS = {
    "inferences": "start_time",
    "tool_calls": "start_time",
    "turns": "start_time",
    "human_messages": "time",
    "opportunities": "time",
    "session_facts": "start_time",
}
"""Table → column of its time."""
_GRACE_HOURS = 24
"""Content younger than this may belong to a batch whose parts are not inserted yet."""


@dataclass(frozen=True, slots=True)
class Retention:
    """Days; 0 keeps for ever."""

    raw_days: int = 0
    rows_days: int = 0

    def days_of(self, table: str) -> int:
        """Of a table; 0 for one without a tier."""
        return self.raw_days if table in RAW else self.rows_days if table in ROWS else 0


def apply_retention(client: Client, retention: Retention, cluster: str = "") -> list[str]:
    """Sets the tables' TTLs where they differ; returns the tables that were changed. Rows go with the next merges."""
    now = dict(ttls(client, cluster))
    changed = []
    for table, column in {**RAW, **ROWS}.items():
        days, current = retention.days_of(table), now.get(table)
        if current is None or current == days:
            continue
        change = f"MODIFY TTL toDateTime({column}) + toIntervalDay({days})" if days else "REMOVE TTL"
        client.command(f"ALTER TABLE {local_name(table, cluster)} {on_cluster(cluster)} {change}")
        changed.append(table)
    return changed


def ttls(client: Client, cluster: str = "") -> Iterator[tuple[str, int]]:
    """(table, days) of every table that exists, 0 without a TTL."""
    sql = "SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()"
    engines = {row[0]: row[1] for row in client.query(sql).result_rows}
    for table in (*RAW, *ROWS):
        engine = engines.get(local_name(table, cluster))
        if engine is not None:
            found = re.search(r" TTL .*?toIntervalDay\((\d+)\)", engine)
            yield table, int(found[1]) if found else 0


def prune_content(client: Client, cluster: str = "") -> int:
    """Deletes content that no part names any more; returns how many rows went. Known hashes must be forgotten then."""
    if is_moving(client):
        return 0  # what is not moved yet would come back
    # Times of writing may be ahead of the clock (`stamps`), all of them then.
    newest_ms = client.query("SELECT toUnixTimestamp64Milli(max(first_seen)) FROM content").result_rows[0][0]
    newest = f"fromUnixTimestamp64Milli({int(newest_ms)})"
    where = (
        f"first_seen < greatest(now64(3), {newest}) - toIntervalHour({_GRACE_HOURS})"
        " AND hash NOT IN (SELECT content_hash FROM message_parts)"
        " AND hash NOT IN (SELECT arguments_hash FROM tool_calls) AND hash NOT IN (SELECT result_hash FROM tool_calls)"
    )
    count: Any = client.query(f"SELECT count() FROM content WHERE {where}").result_rows[0][0]
    if count:
        delete_rows(client, "texts", where, cluster)
    return int(count)


def delete_rows(client: Client, table: str, where: str, cluster: str = "") -> None:
    """Deletes rows for good before it returns. Not `DELETE FROM`: a part all of whose rows are only marked as deleted
    loses its projections, and then no merge takes it any more ("different projection sets")."""
    rows = f"{local_name(table, cluster)} {on_cluster(cluster)}"
    client.command(f"ALTER TABLE {rows} DELETE WHERE {where} SETTINGS mutations_sync = 2")


MAX_MERGED_FACTS_BYTES = 4 * 1024**2
"""About 250,000 rows."""


def bound_merges(client: Client) -> None:
    """Of the embedded engine. A merge of `session_facts` makes its sums anew, with all of them in memory: 0.3 KB a row
    (a million rows don't fit). Beyond the bound the sums are kept by several parts, and added up by who reads. What an
    older version left to be moved is not merged at all."""
    bound_merges_of(client, "session_facts", MAX_MERGED_FACTS_BYTES)
    bound_merges_of(client, BEFORE)


def compact(client: Client, cluster: str = "", left: list[str] | None = None) -> Iterator[str]:
    """Merges every table to one part a partition; yields each table before it begins. Minutes on a large store.

    A table for which the engine has not the memory stays in several parts, which is no harm; `left` is told its name.
    """
    sql = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' ORDER BY name"
    parts = "SELECT DISTINCT table FROM system.parts WHERE active AND database = currentDatabase()"
    with_marks = {row[0] for row in client.query(f"{parts} AND has_lightweight_delete").result_rows}
    for (table,) in client.query(sql).result_rows:
        yield table
        if table in with_marks:
            client.command(f"ALTER TABLE {table} {on_cluster(cluster)} APPLY DELETED MASK SETTINGS mutations_sync = 2")
        try:
            client.command(f"OPTIMIZE TABLE {table} {on_cluster(cluster)} FINAL")
        # All but one are raised again.
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if left is not None:
                left.append(table)
