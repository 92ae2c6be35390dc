"""Settings of a reading session: the collector's bounds, and what of a client's wishes is applied.

A client may make a bound tighter, never wider; it may choose how results are written and how SQL is read; anything else
it sends is accepted, since every driver sends settings of its own, but not applied, and the answer names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

LIMITS: dict[str, int | str] = {
    "max_execution_time": 30,
    # Below what the engine may have in all (`client.ENGINE_SETTINGS`): one query alone ends no other, and no insert.
    "max_memory_usage": 160 * 1024**2,
    "max_bytes_before_external_group_by": 64 * 1024**2,
    "max_bytes_before_external_sort": 64 * 1024**2,
    "max_rows_to_read": 2_000_000_000,
    "max_result_rows": 5_000_000,
    "max_result_bytes": 2 * 1024**3,
    "result_overflow_mode": "throw",
    "max_threads": 2,
    # A block is what a stream holds in memory, and chDB holds several of them; the engine's own is four times this.
    "max_block_size": 16_384,
    "session_timezone": "UTC",
    # To machine code: it costs each of these short queries more than it saves (`spanlore bench queries`).
    "compile_expressions": 0,
    "compile_aggregate_expressions": 0,
    "compile_sort_description": 0,
}
"""Settings of every session, before it becomes read-only. Seconds, bytes, rows."""

WHOLE_RESULT_BYTES = 32 * 1024**2
"""`max_result_bytes` where a result can't be streamed and is held in memory."""

_BOUNDS = frozenset(
    {"max_execution_time", "max_memory_usage", "max_rows_to_read", "max_result_rows", "max_result_bytes", "max_threads"}
    | {"max_block_size"}
)
"""Of `LIMITS`, those that a client may make tighter; 0 means no bound, and is none of a client's business."""

_CHOICES = frozenset(
    {
        "add_http_cors_header",
        "aggregate_functions_null_for_empty",
        "allow_experimental_analyzer",
        "any_join_distinct_right_table_keys",
        "bool_false_representation",
        "bool_true_representation",
        "cast_keep_nullable",
        "date_time_input_format",
        "date_time_output_format",
        "enable_analyzer",
        "except_default_mode",
        "extremes",
        "final",
        "force_index_by_date",
        "force_primary_key",
        "group_by_use_nulls",
        "intersect_default_mode",
        "join_algorithm",
        "join_default_strictness",
        "join_use_nulls",
        "limit",
        "max_bytes_to_read",
        "max_columns_to_read",
        "max_estimated_execution_time",
        "max_rows_in_join",
        "max_rows_to_group_by",
        "max_rows_to_sort",
        "offset",
        "prefer_column_name_to_alias",
        "read_overflow_mode",
        "result_overflow_mode",
        "session_timezone",
        "timeout_overflow_mode",
        "totals_mode",
        "transform_null_in",
        "union_default_mode",
        "use_index_for_in_with_subqueries",
        "use_skip_indexes",
    }
)
_CHOICE_PREFIXES = ("output_format_", "format_csv_", "format_tsv_", "format_json_", "format_binary_")
_WRITING = "output_format_schema"
"""The one of them that names a file, which Protobuf then writes, wherever it is."""


def readonly_sql() -> str:
    """An expression over `system.settings`: 0 for what a client may set here, which the engine of a read-only session
    can't know."""
    names = ", ".join(f"'{name}'" for name in sorted(_BOUNDS | _CHOICES))
    begins = " OR ".join(f"startsWith(name, '{prefix}')" for prefix in _CHOICE_PREFIXES)
    return f"toUInt8(name = '{_WRITING}' OR NOT (name IN ({names}) OR {begins}))"


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """What is set on a session, in order, and which of the client's names are not."""

    applied: dict[str, int | str]
    ignored: tuple[str, ...]


def settings_of(wishes: Mapping[str, str], *, is_whole: bool) -> SessionSettings:
    """`wishes` are the client's, as text; `is_whole`: the result is held in memory."""
    applied = dict(LIMITS)
    if is_whole:
        applied["max_result_bytes"] = WHOLE_RESULT_BYTES
    ignored = []
    for name, value in wishes.items():
        if name in _BOUNDS:
            applied[name] = _tighter(value, applied[name])
        elif name in _CHOICES or (name.startswith(_CHOICE_PREFIXES) and name != _WRITING):
            applied[name] = value
        else:
            ignored.append(name)
    return SessionSettings(applied, tuple(ignored))


def _tighter(value: str, bound: int | str) -> int | str:
    """The client's number where it is one below the bound; text that is no number is the engine's to refuse."""
    try:
        number = float(value)
    except ValueError:
        return value
    return value if 0 < number < float(bound) else bound
