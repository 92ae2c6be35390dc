"""What a session file tells, in one shape for every agent: the order of the file, nothing interpreted yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from spanlore.genai.inference import Usage
from spanlore.genai.messages import Part, ToolResult


@dataclass(frozen=True, slots=True)
class Mark:
    """Where in the file something stands."""

    line: int
    """0-based: a line of JSONL, a message of a document, a step of a trajectory, a part of an OpenCode export."""
    uuid: str = ""
    """The file's own id of it, '' where it has none."""
    time_ns: int = 0
    """Nanoseconds since the epoch, 0 where the file has no times."""
    agent: str = ""
    """The client's id of a sub-agent; '' for the main conversation."""


@dataclass(frozen=True, slots=True)
class Said:
    """Text of the user's side, in blocks as the agent sent them; most of it may be the agent's own."""

    mark: Mark
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Queued:
    """Typed while the agent worked, and told nowhere else in the file."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Answered:
    """One part of an answer of the model. Parts with one `answer` are one answer."""

    mark: Mark
    part: Part
    answer: str = ""
    """The provider's id of the answer, or one of the file's own; never '' for two answers in a row."""
    is_response_id: bool = False
    """`answer` is the provider's id, as the wire has it."""
    model: str = ""
    provider: str = ""
    usage: Usage = field(default_factory=Usage)
    """Of the whole answer; the last part's counts."""
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool call brought."""

    mark: Mark
    result: ToolResult
    exit_code: int | None = None
    """Where the file tells it apart from the text."""
    refusal: str | None = None
    """What the person said when refusing the call, '' when nothing; None where the file does not say it was refused."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """The person stopped the agent."""

    mark: Mark


@dataclass(frozen=True, slots=True)
class Compacted:
    """The history until here was replaced by a summary."""

    mark: Mark
    summary: str


type Event = Said | Queued | Answered | Result | Stopped | Compacted


@dataclass(frozen=True, slots=True)
class Transcript:
    """One session file. Sub-agents' events are among the others, told by `Mark.agent`."""

    harness: str
    session_id: str = ""
    version: str = ""
    cwd: str = ""
    branch: str = ""
    events: tuple[Event, ...] = ()
    lines: int = 0
    malformed_lines: int = 0
    """Lines, messages or parts that could not be read and were passed over."""
