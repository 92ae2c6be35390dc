"""The shapes of the rows, one type a table; field names are the column names, and their order is that of inserts.

Times are integer nanoseconds since the epoch, `ingested_at` and `first_seen` integer milliseconds. Strings are '' where
unknown, numbers None.
"""

from __future__ import annotations

from typing import NamedTuple

TRACE_COLUMNS = (
    "Timestamp",
    "TraceId",
    "SpanId",
    "ParentSpanId",
    "TraceState",
    "SpanName",
    "SpanKind",
    "ServiceName",
    "ResourceAttributes",
    "ScopeName",
    "ScopeVersion",
    "SpanAttributes",
    "Duration",
    "StatusCode",
    "StatusMessage",
    "Events.Timestamp",
    "Events.Name",
    "Events.Attributes",
    "Links.TraceId",
    "Links.SpanId",
    "Links.TraceState",
    "Links.Attributes",
)


class InferenceRow(NamedTuple):
    """A row of `inferences`."""

    session_id: str
    session_inferred: bool
    conversation: str
    parent_conversation: str
    trace_id: str
    span_id: str
    parent_span_id: str
    start_time: int
    end_time: int
    duration_ns: int
    ttft_ns: int | None
    harness: str
    harness_version: str
    run_id: str
    repository: str
    sub_path: str
    branch: str
    cwd: str
    source: str
    dialect: str
    provider: str
    operation: str
    request_model: str
    response_model: str
    response_id: str
    provider_request_id: str
    client_request_id: str
    call_class: str
    turn_index: int
    step_index: int
    attempt: int
    status_code: int | None
    error_type: str
    is_complete: bool
    finish_reason: str
    message_count: int
    new_from: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cache_write_1h_tokens: int | None
    reasoning_tokens: int | None
    cost_usd: float | None
    cost_input_usd: float | None
    cost_output_usd: float | None
    price_version: str
    request_bytes: int
    response_bytes: int
    redactions: int
    overhead_ns: int
    injected_memory_ids: tuple[str, ...]
    injected_bytes: int
    injected_placements: str
    injection_skipped: str
    compacted: bool
    ingested_at: int


class ToolCallRow(NamedTuple):
    """A row of `tool_calls`."""

    session_id: str
    conversation: str
    trace_id: str
    span_id: str
    parent_span_id: str
    tool_call_id: str
    tool_name: str
    start_time: int
    end_time: int
    duration_ns: int
    outcome: str
    outcome_reason: str
    exit_code: int | None
    program: str
    command: str
    signature: str
    error_class: str
    error_line: str
    arguments_hash: str
    result_hash: str
    result_bytes: int
    harness: str
    repository: str
    sub_path: str
    branch: str
    run_id: str
    source: str
    call_class: str
    turn_index: int
    step_index: int
    ingested_at: int


class TurnRow(NamedTuple):
    """A row of `turns`."""

    session_id: str
    conversation: str
    parent_conversation: str
    trace_id: str
    span_id: str
    parent_span_id: str
    start_time: int
    end_time: int
    duration_ns: int
    turn_index: int
    prompt: str
    inferences: int
    tool_calls: int
    failures: int
    end: str
    harness: str
    repository: str
    sub_path: str
    branch: str
    run_id: str
    source: str
    call_class: str
    ingested_at: int


class HumanMessageRow(NamedTuple):
    """A row of `human_messages`."""

    session_id: str
    conversation: str
    trace_id: str
    span_id: str
    time: int
    channel: str
    text: str
    ordinal: int
    turn_index: int
    step_index: int
    harness: str
    repository: str
    sub_path: str
    branch: str
    source: str
    call_class: str
    ingested_at: int


class OpportunityRow(NamedTuple):
    """A row of `opportunities`."""

    session_id: str
    conversation: str
    trace_id: str
    span_id: str
    time: int
    ordinal: int
    memory_id: str
    kind: str
    state: str
    reason: str
    anchor: str
    position: int
    bytes: int
    tokens: int
    turn_index: int
    step_index: int
    harness: str
    repository: str
    sub_path: str
    branch: str
    model: str
    source: str
    call_class: str
    ingested_at: int


class SessionFactRow(NamedTuple):
    """A row of `session_facts`."""

    session_id: str
    trace_id: str
    span_id: str
    start_time: int
    end_time: int
    harness: str
    repository: str
    branch: str
    source: str
    inferences: int
    tool_calls: int
    failures: int
    turns: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_usd: float | None
    title: str
    ingested_at: int


class PartRow(NamedTuple):
    """A row of `message_parts`."""

    session_id: str
    conversation: str
    trace_id: str
    span_id: str
    time: int
    direction: str
    message_index: int
    part_index: int
    role: str
    type: str
    tool_call_id: str
    name: str
    content_hash: str
    content_bytes: int
    finish_reason: str
    ingested_at: int


class ContentRow(NamedTuple):
    """A row of `texts`, which the view `content` shows."""

    hash: str
    body: str
    bytes: int
    first_seen: int
