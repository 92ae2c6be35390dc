"""A migration's statement for one server or for a cluster, from the same text. Pure.

On a cluster every MergeTree table `t` becomes `t_local` with a Replicated engine on all shards, and `t` a Distributed
table over them, so that whoever reads and writes says `t` in either case. Rows are placed by session where a table has
one (a session is read from one shard), else by what names a row; always by a deterministic expression, or a repeated
insert would reach another shard and not be known there. A materialized view stands beside its source on each shard;
indexes, settings and TTLs belong to the local tables, new columns to both. Replicated engines have no arguments of
their own here: the server's `default_replica_path` and its `shard` and `replica` macros are used.
"""

from __future__ import annotations

import re
from string import Template

LOCAL = "_local"
_PLACED_BY = {
    "otel_traces": "if(SpanAttributes['spanlore.session.id'] != '', SpanAttributes['spanlore.session.id'], TraceId)",
    "otel_traces_trace_id_ts": "TraceId",
    "otel_logs": "tuple(Timestamp, ServiceName, Body)",
    "migrations": "'one shard'",
    "mining_state": "key",
    "summary_chapters": "repository",
}
"""Tables whose rows are not placed by one of `_KEYS`, and all that would be ambiguous."""
_KEYS = ("session_id", "hash", "id", "MetricName", "name", "key")
_TABLE = re.compile(r"CREATE TABLE IF NOT EXISTS `?(\w+)`?")
_VIEW = re.compile(r"(CREATE MATERIALIZED VIEW IF NOT EXISTS )(\w+)( .*?\bTO )(\w+)(.*?\bFROM )(\w+)", re.DOTALL)
_CHANGES_COLUMNS = re.compile(r"\b(ADD|DROP|RENAME) COLUMN\b|\bMODIFY COLUMN (?!\S+ CODEC\()")
_ALTER = re.compile(r"ALTER TABLE (\w+)(.*)", re.DOTALL)
_SEARCH_INDEX = {True: "text(tokenizer = 'splitByNonAlpha')", False: "tokenbf_v1(32768, 3, 0) GRANULARITY 1"}
_TEXT_INDEX_SINCE = (26, 2)
_LEAN_PARTS = {
    "ratio_of_defaults_for_sparse_serialization = 1": (0,),
    "write_marks_for_substreams_in_compact_parts = 0": (25, 9),
    "default_compression_codec = 'ZSTD(3)'": (25, 11),
    "auto_statistics_types = ''": (26, 1),
}
"""Setting → the engine that has it. Statistics of columns are for the order of joins, and took 5 % of a small store."""
_SMALL_BUFFERS = {True: "min_columns_to_activate_adaptive_write_buffer = 1", False: "min_rows_for_wide_part = 0"}
_SMALL_BUFFERS_SINCE = (25, 8)
"""Engines before it get a setting that changes nothing."""


def local_name(table: str, cluster: str) -> str:
    """The table that holds the rows, for statements that a Distributed table does not take: ALTER, DELETE, OPTIMIZE."""
    return f"{table}{LOCAL}" if cluster else table


def on_cluster(cluster: str) -> str:
    """The clause, '' without a cluster."""
    return f"ON CLUSTER `{cluster}`" if cluster else ""


def statements_for(statement: str, database: str, cluster: str, version: str) -> list[str]:
    """What is run for one statement of a migration. `version` is the engine's, as `26.9.2.1`."""
    numbers = tuple(int(word) for word in re.findall(r"\d+", version)[:2])
    words = {
        "on_cluster": on_cluster(cluster),
        "replicated": "Replicated" if cluster else "",
        "search_index": _SEARCH_INDEX[numbers >= _TEXT_INDEX_SINCE],
        "small_buffers": _SMALL_BUFFERS[numbers >= _SMALL_BUFFERS_SINCE],
        "lean_parts": ", ".join(setting for setting, since in _LEAN_PARTS.items() if numbers >= since),
    }
    if not cluster:
        return [Template(statement).substitute(words)]
    return [Template(text).substitute(words) for text in _spread(statement, database, cluster)]


def _spread(statement: str, database: str, cluster: str) -> list[str]:
    if found := _TABLE.match(statement):
        return _spread_table(statement, found[1], database, cluster)
    if found := _VIEW.match(statement):
        made = f"{found[1]}{found[2]}{found[3]}{found[4]}{LOCAL}{found[5]}{found[6]}{LOCAL}"
        return [made + statement[found.end() :]]
    if found := _ALTER.match(statement):
        local = f"ALTER TABLE {found[1]}{LOCAL}{found[2]}"
        # A statement changes columns or what is not theirs, never both. How columns are packed is not theirs.
        return [local, statement] if re.search(_CHANGES_COLUMNS, statement) else [local]
    return [statement]


def _spread_table(statement: str, table: str, database: str, cluster: str) -> list[str]:
    local = statement.replace(table, f"{table}{LOCAL}", 1)
    over = f"Distributed(`{cluster}`, `{database}`, `{table}{LOCAL}`, cityHash64({placed_by(statement, table)}))"
    return [local, f"CREATE TABLE IF NOT EXISTS {table} ${{on_cluster}} AS {table}{LOCAL} ENGINE = {over}"]


def placed_by(statement: str, table: str) -> str:
    """The expression whose hash says on which shard a row of the table lies.

    Raises:
        ValueError: nothing in the table names its rows; it needs an entry in `_PLACED_BY`.
    """
    if table in _PLACED_BY:
        return _PLACED_BY[table]
    columns = set(re.findall(r"^[ (]*`?(\w+)`? +[A-Z]", statement, re.MULTILINE))
    for key in _KEYS:
        if key in columns:
            return key
    raise ValueError(f"no column of {table} says on which shard a row lies")
