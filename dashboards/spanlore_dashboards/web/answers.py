"""What the HTTP API answers, as models: the OpenAPI document is made from them, and nothing leaves that is not in it.

Times are integer nanoseconds since the epoch, money is US dollars; null is "not known", never 0.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """What all have in common: read from rows or dataclasses; what is not named here is left out."""

    model_config = ConfigDict(from_attributes=True, extra="ignore")


class Problem(Answer):
    """What went wrong, for people."""

    message: str


class Session(Answer):
    """One run of an agent."""

    session_id: str
    harness: str
    repository: str
    branch: str
    title: str
    start_time_ns: int
    end_time_ns: int
    turns: int
    inferences: int
    tool_calls: int
    failures: int
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cost_usd: float | None
    models: list[str] = Field(default=[], description="Most used first")


class SessionList(Answer):
    """One page of sessions."""

    sessions: list[Session]
    found: int
    failed: int = Field(description="Of all that were found: sessions with a failed tool call")
    tokens: int
    cost_usd: float | None
    page: int
    pages: int


class Placement(Answer):
    """One piece of text that spanlore placed, withheld or left out."""

    kind: str
    anchor: str
    memory_ids: list[str]
    bytes: int
    is_first: bool
    state: str
    reason: str


class ToolCall(Answer):
    """A tool call; `turns` are those of the sub-agent it started."""

    span_id: str
    trace_id: str
    tool_call_id: str
    tool_name: str
    start_time_ns: int
    end_time_ns: int
    outcome: str
    outcome_reason: str
    exit_code: int | None
    program: str
    command: str
    signature: str
    error_class: str
    error_line: str
    turns: list[Turn] = []


class ModelCall(Answer):
    """A model call with the tools it asked for."""

    span_id: str
    trace_id: str
    conversation: str
    call_class: str
    request_model: str
    response_model: str
    start_time_ns: int
    end_time_ns: int
    ttft_ns: int | None
    attempt: int
    error_type: str
    is_complete: bool
    finish_reason: str
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cost_usd: float | None
    injected_memory_ids: list[str]
    injection_skipped: str
    placements: list[Placement]
    tools: list[ToolCall] = []


class Turn(Answer):
    """One user message until the model stops asking for tools. `end` is open while it goes on, none for side calls."""

    span_id: str
    conversation: str
    turn_index: int
    prompt: str
    end: str
    start_time_ns: int
    end_time_ns: int
    chats: list[ModelCall]
    tools: list[ToolCall] = Field(default=[], description="Calls whose model call was not captured")


class Left(Answer):
    """What is kept of a session for good."""

    goal: str = Field(description="What a person asked first")
    text: str = Field(description="All of it, as people read it")
    parts: dict[str, Any] = Field(description="All of it, for programs")


class SessionTree(Answer):
    """A session with all its turns."""

    session: Session
    turns: list[Turn]
    summary: Left | None = Field(
        None,
        description="Where what was said is past its days: what is left of it. Without turns the session is past them "
        "too, and what was counted in it is not known any more",
    )


class Part(Answer):
    """One piece of content; `text` is its head."""

    direction: str
    role: str
    type: str
    name: str
    hash: str
    size_bytes: int
    text: str


class Span(Answer):
    """One span with its content."""

    kind: str = Field(description="chat, tool or turn")
    span_id: str
    parts: list[Part]
    attributes: dict[str, Any] = Field(description="All columns of the span's row")


class Evidence(Answer):
    """One span that proves a memory."""

    role: str
    session_id: str
    trace_id: str
    span_id: str
    time_ns: int
    quote: str


class Memory(Answer):
    """One thing learned."""

    id: str
    kind: str
    category: str
    """What it is about: convention, dependency, file_pattern, …"""
    source: str
    status: str
    scope: str
    text: str
    why: str
    note: str
    harness: str
    subject: str
    session_count: int
    confidence: float
    pinned: bool
    created_at_ns: int
    updated_at_ns: int
    superseded_by: str
    duplicate_of: str
    """The memory that says the same, as a judge sees it: `merge` makes one of the two."""
    version: int
    evidence: list[Evidence]


class MemoryList(Answer):
    """Memories, those that agents are shown first."""

    memories: list[Memory]
    found: int
    page: int
    pages: int


class Recalled(Answer):
    """A memory as it would be chosen."""

    memory: Memory
    score: float | None = Field(None, description="How much of the question it is about; null without a question")
    matched: list[str] = Field([], description="The words it has in common with the question")
    cut: str = Field("", description="Why an agent would not be shown it: unclear, same_slot, budget, limit")


class RecallResult(Answer):
    """Memories, best first."""

    recalled: list[Recalled]


class MemoryEvent(Answer):
    """Something that happened to a memory."""

    verb: str
    actor: str
    reason: str
    version: int
    at_ns: int


class Use(Answer):
    """A session in whose requests a memory stood."""

    session_id: str
    title: str
    repository: str
    requests: int
    first_span_id: str
    first_time_ns: int


class Effect(Answer):
    """How often what a memory speaks of came back, with it and without; below 0 it helps."""

    verdict: str = Field(description="helps, harms, open, or too few")
    shown: tuple[int, int] = Field(description="Sessions in which it came back, of those in which it was shown")
    withheld: tuple[int, int]
    difference: float | None = Field(description="Share shown minus share withheld; null while there are too few")
    interval: tuple[float, float] | None
    level: float = Field(description="Of the interval")
    min_sessions: int = Field(description="Of each arm, before a number is told")
    measured_at_ns: int


class Opportunity(Answer):
    """How often a memory could have been placed, and what became of it."""

    kind: str
    state: str = Field(description="shown, withheld or skipped")
    reason: str
    requests: int
    sessions: int


class MemoryDetail(Answer):
    """A memory with its life, where it was shown, and what it does."""

    memory: Memory
    events: list[MemoryEvent]
    uses: list[Use]
    opportunities: list[Opportunity]
    effect: Effect | None = Field(description="Null before it was measured")


class Changed(Answer):
    """A memory after a change."""

    memory: Memory


class Hit(Answer):
    """A place where a text stands."""

    session_id: str
    span_id: str
    time_ns: int
    where: str = Field(description="user, model, tool_input, tool_output or another role")
    tool: str
    repository: str
    before: str
    match: str
    after: str


class SearchResult(Answer):
    """Where a text stands, newest first."""

    hits: list[Hit]


class Spent(Answer):
    """What was used: by one name on one day, by one name, or in all."""

    day: str
    name: str
    calls: int
    sessions: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: float = Field(description="Of the calls whose price is known")
    unpriced_calls: int


class Ledger(Answer):
    """What spanlore itself costs: three ledgers that are never summed."""

    exposed_requests: int
    exposed_tokens: int = Field(description="That memories added to agents' requests")
    exposed_usd: float | None
    internal_requests: int
    internal_tokens: int = Field(description="Of spanlore's own model calls")
    internal_usd: float | None
    cache_delta_tokens: int = Field(description="Not read from a cache because of spanlore; should be 0")
    cache_delta_usd: float | None


class Cost(Answer):
    """What was spent."""

    days: list[str]
    cells: list[Spent] = Field(description="By day and name")
    names: list[Spent] = Field(description="By name, most expensive first")
    total: Spent
    ledger: Ledger


class Process(Answer):
    """One of the daemon's processes."""

    name: str
    pid: int
    alive: bool
    memory_mb: int
    restarts: int


class Capture(Answer):
    """What the proxy says of itself."""

    heartbeat_age_ns: int | None
    captured: int
    shipped: int
    waiting: int
    lost: int
    is_complete: bool
    is_silent: bool
    delivery_trouble: str
    drops: dict[str, dict[str, int]] = Field(description="Counter, reason, count")
    overhead_ns: dict[str, int] = Field(description="p50, p90, p99, max and count over the newest requests")


class Hour(Answer):
    """What spanlore added to requests in an hour."""

    hour_s: int
    calls: int
    p50_ns: int
    p99_ns: int


class Health(Answer):
    """How spanlore itself is."""

    capture: Capture
    processes: list[Process]
    overhead_by_hour: list[Hour]


for _model in (ToolCall, ModelCall, Turn, SessionTree):
    _model.model_rebuild()
