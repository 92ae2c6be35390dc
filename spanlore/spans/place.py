"""Where a span stands and whose work it is; what the conversation stage knows and the wire alone does not."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import ToolCall, ToolResult


class Outcome(StrEnum):
    """How a tool call ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    UNKNOWN = "unknown"
    """Nothing on the wire says; never counted as either."""
    REJECTED = "rejected"
    """A person or a policy did not let it run."""


class Channel(StrEnum):
    """How a person's words reached the agent."""

    USER_MESSAGE = "user_message"
    REJECTION_REASON = "rejection_reason"
    """Typed when refusing a tool call."""
    QUEUED = "queued"
    """Typed while the agent was still working."""


@dataclass(frozen=True, slots=True)
class HumanMessage:
    """What a person typed: reminders, command output, pasted boilerplate and our own text already stripped."""

    channel: Channel
    text: str


@dataclass(frozen=True, slots=True)
class Workplace:
    """Whose work a session is. Empty strings where unknown."""

    run_id: str = ""
    harness: str = "unknown"
    harness_version: str = ""
    repository: str = ""
    """Scope key: `host/owner/name`, or `path:/abs/dir`; '' when unknown, and then nothing is ever injected."""
    sub_path: str = ""
    branch: str = ""
    cwd: str = ""
    source: str = "wire"


@dataclass(frozen=True, slots=True)
class Place:
    """Where an inference stands."""

    session_id: str
    session_inferred: bool
    conversation: str
    """16 hex digits."""
    trace_id: bytes
    turn_span_id: bytes
    turn_index: int
    step_index: int
    parent_conversation: str = ""
    call_class: CallClass = CallClass.MAIN
    attempt: int = 1
    is_compacted: bool = False
    """The agent rewrote its own history just before this inference."""
    parent_tool_span_id: bytes | None = None
    """Of the tool call that started this (sub-agent) conversation, where known; its trace is `parent_trace_id`."""
    parent_trace_id: bytes | None = None


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """One tool call with its answer: from the response that asked to the request that answered."""

    call: ToolCall
    result: ToolResult | None
    start_time_ns: int
    end_time_ns: int
    outcome: Outcome
    outcome_reason: str = ""
    exit_code: int | None = None
    program: str = ""
    command: str = ""
    signature: str = ""
    """16 hex digits, '' unless the outcome is failure."""
    error_class: str = ""
    error_line: str = ""
    step_index: int = 0
    """Step of the inference that asked for it."""
    turn_index: int = 0
    trace_id: bytes = b""
    turn_span_id: bytes = b""


@dataclass(frozen=True, slots=True)
class Turn:
    """One user message until the model stopped asking for tools."""

    trace_id: bytes
    span_id: bytes
    turn_index: int
    start_time_ns: int
    end_time_ns: int
    human: tuple[HumanMessage, ...] = ()
    inferences: int = 0
    tool_calls: int = 0
    failures: int = 0
    end: str = "completed"
    """completed, interrupted, idle or superseded."""
    revision: int = 0
    """How often its span was told before: something happened after it seemed over."""


@dataclass(frozen=True, slots=True)
class Injected:
    """What spanlore put into one forwarded request, or why it put nothing."""

    memory_ids: tuple[str, ...] = ()
    added_bytes: int = 0
    placements_json: str = ""
    """JSON list, see `semconv.lore.INJECTED_PLACEMENTS`; '' when nothing was placed, withheld or skipped."""
    skipped: str = ""
    overhead_ns: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """All that one exchange added to what is known, ready to be encoded as spans.

    `tools` are the calls that this request answered, `turns` those that are over by now (this exchange may end one
    and, when the user has gone on without an answer, also close an earlier one).
    """

    place: Place
    workplace: Workplace
    human: tuple[HumanMessage, ...] = ()
    tools: tuple[ToolExecution, ...] = ()
    turns: tuple[Turn, ...] = ()
    injected: Injected = field(default_factory=Injected)
