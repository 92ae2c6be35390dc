"""What the tracker remembers of a conversation, and its JSON.

Only hashes, ids, times and counts: no text of anybody's, so that the state may lie on disk unredacted. Everything a
restarted proxy needs to go on without telling the past again is here.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Workplace

STATE_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """The newest turn of a conversation."""

    trace_id: bytes
    span_id: bytes
    turn_index: int
    start_time_ns: int
    end_time_ns: int
    """When it last did something."""
    inferences: int = 0
    tool_calls: int = 0
    failures: int = 0
    is_emitted: bool = False
    """Its span is out, and says all that has happened in it."""
    end: str = ""
    """How it ended when its span was told last; '' when that was never, or the model has been asked since."""
    revision: int = 0
    """How often its span is out."""
    said: int = 0
    """Messages of a person that its span tells."""


@dataclass(frozen=True, slots=True)
class PendingTool:
    """A tool call that the model has asked for and the client has not answered yet."""

    id: str
    name: str
    start_time_ns: int
    """End of the response that asked."""
    turn_index: int
    step_index: int
    trace_id: bytes
    turn_span_id: bytes


@dataclass(frozen=True, slots=True)
class Launch:
    """A tool call that starts a sub-agent."""

    tool_call_id: str
    prompt_hash: str
    kind: str
    trace_id: bytes
    agent_id: str = ""
    """The client's id of the agent, once the tool's result has told it."""


@dataclass(frozen=True, slots=True)
class ConversationState:
    """One conversation, up to its last exchange."""

    conversation: str
    session_id: str
    session_inferred: bool
    group: str
    """Which conversations a request is compared with."""
    agent_key: str = ""
    call_class: CallClass = CallClass.MAIN
    parent_conversation: str = ""
    parent_tool_span_id: bytes | None = None
    parent_trace_id: bytes | None = None
    chain: bytes = b""
    """Digests of the last request's messages."""
    echo: bytes = b""
    """Digest of the answer to it, as the client would send it back."""
    answered: int = 0
    """Index after the model's last message in `chain`."""
    turn: OpenTurn | None = None
    pending: tuple[PendingTool, ...] = ()
    settled: tuple[str, ...] = ()
    """Ids of tool calls answered since the model's last message."""
    heard: tuple[str, ...] = ()
    """Hashes of what a person typed since the model's last message."""
    launches: tuple[Launch, ...] = ()
    step_index: int = 0
    attempt: int = 1
    body_mark: str = ""
    """Length and CRC of the last request's body."""
    has_failed: bool = False
    """The last exchange brought no answer, or only part of one."""
    was_abandoned: bool = False
    """The client went away before the last answer was whole."""
    has_output: bool = False
    last_start_time_ns: int = 0
    last_end_time_ns: int = 0
    last_response_id: str = ""
    system_hashes: tuple[str, ...] = ()
    tools_hashes: tuple[str, ...] = ()
    workplace: Workplace = field(default_factory=Workplace)


_BYTES: Final = ("chain", "echo", "parent_tool_span_id", "parent_trace_id")


def state_to_json(state: ConversationState) -> str:
    """The state as JSON text, the inverse of `state_from_json`."""
    return f'{{"version":{STATE_VERSION},{orjson.dumps(state, default=_encode_bytes)[1:].decode()}'


def state_from_json(text: str | bytes) -> ConversationState:
    """The state that `state_to_json` wrote.

    Raises:
        ValueError: not such a text, or of another version.
    """
    data = orjson.loads(text)
    if not isinstance(data, dict) or data.pop("version", None) != STATE_VERSION:
        raise ValueError("not a conversation state of this version")
    try:
        return _state(data)
    except (TypeError, KeyError, AttributeError) as fault:
        raise ValueError(f"not a conversation state: {fault}") from fault


def _state(data: dict[str, Any]) -> ConversationState:
    turn = data.pop("turn")
    nested: dict[str, Any] = {
        "call_class": CallClass(data.pop("call_class")),
        "turn": None if turn is None else OpenTurn(**_with_bytes(turn, ("trace_id", "span_id"))),
        "pending": tuple(PendingTool(**_with_bytes(one, ("trace_id", "turn_span_id"))) for one in data.pop("pending")),
        "launches": tuple(Launch(**_with_bytes(one, ("trace_id",))) for one in data.pop("launches")),
        "workplace": Workplace(**data.pop("workplace")),
    }
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    return ConversationState(**_with_bytes(plain, _BYTES), **nested)


def _with_bytes(data: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {**data, **{key: base64.b64decode(data[key]) for key in keys if data[key] is not None}}


def _encode_bytes(value: object) -> str:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    raise TypeError(type(value).__name__)
