"""What mining reads: one agent session as ordered steps, already decoded, redacted and free of injected text.

A step carries the ids of the span that shows it, so whatever is mined can cite its evidence. Times are integer
nanoseconds since the epoch. Order is the order on the wire; the tool calls of one inference share a `step_index`:
they ran side by side, so none of them can have fixed another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Channel, Outcome

OUTPUT_HEAD_CHARS: Final = 4000
"""How much of a tool's output mining looks at."""

IDLE_GAP_NS: Final = 120 * 10**9
"""A longer silence between two steps counts as this much: nobody was working on the failure meanwhile."""

MAX_TOOL_NS: Final = 300 * 10**9
"""A longer tool call counts as this much: a call that waits for the person's approval looks like a slow one."""


@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool call with its answer."""

    trace_id: str
    span_id: str
    tool_call_id: str
    tool_name: str
    start_time_ns: int
    end_time_ns: int
    outcome: Outcome
    outcome_reason: str = ""
    exit_code: int | None = None
    program: str = ""
    command: str = ""
    """The shell command, or the path a file tool was given."""
    signature: str = ""
    """16 hex digits, '' unless the outcome is failure."""
    error_class: str = ""
    error_line: str = ""
    arguments: str = ""
    """Canonical JSON of the arguments; '' where the content was not kept."""
    output: str = ""
    """Head of the result as a terminal shows it, at most `OUTPUT_HEAD_CHARS`; '' where the content was not kept."""
    turn_index: int = 0
    step_index: int = 0


@dataclass(frozen=True, slots=True)
class HumanStep:
    """What a person typed."""

    trace_id: str
    span_id: str
    time_ns: int
    channel: Channel
    text: str
    ordinal: int = 0
    """Position among the human messages of one request."""
    turn_index: int = 0
    step_index: int = 0
    is_interruption: bool = False
    """The person stopped the agent to say this."""


@dataclass(frozen=True, slots=True)
class AgentStep:
    """What the agent said to the person (not its thinking, not its tool calls)."""

    trace_id: str
    span_id: str
    time_ns: int
    text: str
    turn_index: int = 0
    step_index: int = 0


type Step = ToolStep | HumanStep | AgentStep


@dataclass(frozen=True, slots=True)
class Conversation:
    """Steps that share one history. A sub-agent has its own."""

    key: str
    steps: tuple[Step, ...]
    call_class: CallClass = CallClass.MAIN
    parent: str = ""


@dataclass(frozen=True, slots=True)
class MinedSession:
    """One run of an agent, as far as it is known when it is mined."""

    session_id: str
    conversations: tuple[Conversation, ...]
    harness: str = "unknown"
    repository: str = ""
    """Scope key; '' when unknown, and then nothing of it can become a memory that is shown."""
    sub_path: str = ""
    branch: str = ""
    cwd: str = ""
    """Absolute; with `sub_path` it tells where the repository lies, so that paths can be told without the machine."""


def time_of(step: Step) -> int:
    """When the step was over (a tool call) or said, nanoseconds."""
    return step.end_time_ns if isinstance(step, ToolStep) else step.time_ns


def active_clock(steps: tuple[Step, ...]) -> list[int]:
    """For each step the nanoseconds somebody was working until it was over.

    A wait for the person (the gap before a human step) counts nothing, any other gap at most `IDLE_GAP_NS`, a tool's
    own duration at most `MAX_TOOL_NS`.
    """
    clock, now_ns, out = 0, 0, []
    for step in steps:
        start_ns = step.start_time_ns if isinstance(step, ToolStep) else step.time_ns
        if now_ns and not isinstance(step, HumanStep):
            clock += min(max(start_ns - now_ns, 0), IDLE_GAP_NS)
        if isinstance(step, ToolStep):
            clock += min(max(step.end_time_ns - max(start_ns, now_ns), 0), MAX_TOOL_NS)
        now_ns = max(now_ns, time_of(step))
        out.append(clock)
    return out
