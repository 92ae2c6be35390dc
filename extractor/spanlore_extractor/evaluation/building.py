"""A transcript's events as conversations, with the outcomes and signatures that the proxy would have recorded.

The span id of a step tells the line it stands on (`line_of`), so whatever is found can be looked up in the file.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import Message, Role, Text, ToolCall, canonical_json
from spanlore.harness.human import is_refusal, rejection_reason, scan
from spanlore.harness.printed import read_printed
from spanlore.signature.command import tool_program
from spanlore.signature.failure import signature_of
from spanlore.signature.terminal import plain
from spanlore.spans.place import Channel, Outcome
from spanlore.transcripts.events import Answered, Compacted, Event, Mark, Queued, Result, Said, Stopped, Transcript
from spanlore.transcripts.verdict import verdict
from spanlore_extractor.mining.session import (
    OUTPUT_HEAD_CHARS,
    AgentStep,
    Conversation,
    HumanStep,
    MinedSession,
    Step,
    ToolStep,
)

_SECOND_NS: Final = 10**9
_STEPS: Final = frozenset({"mini-swe-agent", "swe-agent"})
"""Agents whose calls are known by the step they stand in."""
_DIALOGUES: Final = frozenset({"askuserquestion", "ask_user", "request_user_input", "question"})
"""Dismissing these is how a person asks back; the reason is no correction of an action."""
_SLASH: Final = re.compile(r"/[a-z][\w:-]*(?:\s|$)")
_HANDLES: Final = ("session_id", "sessionId", "shellId")
"""Under which a call asks for the rest of a command's output."""
_SHELL_RUNS: Final = re.compile(r"\bshellId:? (\S+?)>? is still running\b")
"""Copilot CLI."""
_POLLS: Final = frozenset({"write_stdin", "read_bash", "bash_output", "bashoutput"})


def session_of(transcript: Transcript, repository: str = "") -> MinedSession:
    """The session a transcript tells, with the main conversation first."""
    agents: dict[str, list[Event]] = defaultdict(list)
    for event in transcript.events:
        agents[event.mark.agent].append(event)
    is_agents_own = "" not in agents
    conversations = tuple(
        Conversation(
            key=agent or "main",
            steps=_Builder(transcript.harness).steps(events),
            call_class=CallClass.SUBAGENT if agent and not is_agents_own else CallClass.MAIN,
            parent="main" if agent else "",
        )
        for agent, events in sorted(agents.items())
    )
    return MinedSession(
        session_id=transcript.session_id,
        conversations=conversations or (Conversation("main", ()),),
        harness=transcript.harness,
        repository=repository,
        branch=transcript.branch,
        cwd=transcript.cwd,
    )


def line_of(step: Step) -> int:
    """The 0-based line (part, step) that a step of `session_of` stands on."""
    return int(step.span_id[:12], 16)


@dataclass(frozen=True, slots=True)
class _Open:
    """A call that waits for its result."""

    index: int
    mark: Mark
    start_ns: int
    call: ToolCall
    step_index: int


class _Builder:
    """Collects the steps of one conversation in the order of the file."""

    def __init__(self, harness: str) -> None:
        self._harness = harness
        self._steps: list[Step | None] = []
        self._open: dict[str, _Open] = {}
        self._names: dict[str, str] = {}
        self._running: dict[str, str] = {}
        """Id under which a running command is asked for → its call."""
        self._polls: dict[str, str] = {}
        """Call that asks for the rest → the id it asks for."""
        self._answer = ""
        self._now_ns = 0
        self._step = 0
        self._turn = 0
        self._is_stopped = False
        self._has_results = False

    def steps(self, events: list[Event]) -> tuple[Step, ...]:
        """All steps whose answer is known."""
        for event in events:
            self._tick(event.mark)
            match event:
                case Answered():
                    self._answered(event)
                case Result():
                    self._result(event)
                case Said():
                    self._said(event)
                case Queued():
                    self._queued(event)
                case Stopped():
                    self._is_stopped = True
                case Compacted():
                    pass
        return tuple(step for step in self._steps if step is not None)

    def _tick(self, mark: Mark) -> None:
        """The clock goes to the event's time, or on by a second where the file has no times."""
        self._now_ns = max(mark.time_ns, self._now_ns) if mark.time_ns else self._now_ns + _SECOND_NS

    def _answered(self, event: Answered) -> None:
        if event.answer != self._answer:
            self._answer = event.answer
            self._step += 1
            self._has_results = self._is_stopped = False
        if isinstance(event.part, ToolCall):
            self._call(event.mark, event.part)
        elif isinstance(event.part, Text) and event.part.content.strip():
            ids = self._ids(event.mark)
            self._steps.append(AgentStep(*ids, self._now_ns, event.part.content, self._turn, self._step))

    def _call(self, mark: Mark, call: ToolCall) -> None:
        self._names[call.id] = call.name
        if call.name.lower() in _POLLS and isinstance(call.arguments, dict):
            asks_for = next((call.arguments[name] for name in _HANDLES if name in call.arguments), None)
            if str(asks_for) in self._running:
                self._polls[call.id] = str(asks_for)
                return
        self._open[call.id] = _Open(len(self._steps), mark, self._now_ns, call, self._step)
        self._steps.append(None)

    def _result(self, event: Result) -> None:
        result = event.result
        self._has_results = True
        poll = self._polls.pop(result.id, "")
        call_id = self._running.get(poll, result.id)
        running = read_printed(result.response, self._harness).running or _still_running(result.response)
        if running and call_id in self._open:
            self._running[running] = call_id
        elif call_id in self._open:
            waiting = self._open.pop(call_id)
            self._steps[waiting.index] = self._tool_step(waiting, event)
        self._refused(event)

    def _refused(self, event: Result) -> None:
        """A refusal's reason is a person's words; one without stops the agent."""
        result = event.result
        reason = event.refusal or rejection_reason(result)
        if event.refusal is None and not is_refusal(result):
            return
        if not reason:
            self._is_stopped = True
        elif self._names.get(result.id, "").lower() not in _DIALOGUES:
            self._human(event.mark, reason, Channel.REJECTION_REASON)

    def _said(self, event: Said) -> None:
        found = scan(Message(Role.USER, tuple(Text(block) for block in event.blocks)))
        self._is_stopped = self._is_stopped or found.is_interrupted
        for text in found.queued:
            self._human(event.mark, text, Channel.QUEUED)
        is_working = self._has_results and not self._is_stopped and self._is_beside_results(event.mark)
        if self._harness in _STEPS:  # the task of a benchmark: nobody typed it
            return
        for text in found.texts:
            if not _SLASH.match(text):
                self._human(event.mark, text, Channel.QUEUED if is_working else Channel.USER_MESSAGE)

    def _is_beside_results(self, mark: Mark) -> bool:
        last = next((step for step in reversed(self._steps) if isinstance(step, ToolStep)), None)
        return self._harness == "claude-code" and last is not None and last.end_time_ns == mark.time_ns

    def _queued(self, event: Queued) -> None:
        found = scan(Message(Role.USER, (Text(event.text),)))
        for text in (*found.queued, *found.texts):
            self._human(event.mark, text, Channel.QUEUED)

    def _human(self, mark: Mark, text: str, channel: Channel) -> None:
        if channel is Channel.USER_MESSAGE:
            self._turn += 1
        self._steps.append(
            HumanStep(
                *self._ids(mark),
                time_ns=self._now_ns,
                channel=channel,
                text=text,
                turn_index=self._turn,
                step_index=self._step,
                is_interruption=self._is_stopped and channel is Channel.USER_MESSAGE,
            )
        )
        self._is_stopped = self._is_stopped and channel is not Channel.USER_MESSAGE

    def _ids(self, mark: Mark) -> tuple[str, str]:
        return f"{self._turn:032x}", f"{mark.line:012x}{len(self._steps) & 0xFFFF:04x}"

    def _tool_step(self, waiting: _Open, event: Result) -> ToolStep:
        call, text = waiting.call, event.result.response
        program, command = tool_program(call)
        found = verdict(call, event, self._harness)
        output = read_printed(text, self._harness).output
        step_signature = error_class = error_line = ""
        if found.outcome is Outcome.FAILURE:
            signature = signature_of(call, output, found.exit_code)
            step_signature, error_class, error_line = signature.hash, signature.error_class, signature.error_line
        is_first = not any(
            isinstance(step, ToolStep) and step.tool_call_id == str(waiting.mark.line) for step in self._steps
        )
        return ToolStep(
            trace_id=f"{self._turn:032x}",
            span_id=f"{waiting.mark.line:012x}{waiting.index & 0xFFFF:04x}",
            tool_call_id=str(waiting.mark.line) if self._harness in _STEPS and is_first else call.id,
            tool_name=call.name,
            start_time_ns=waiting.start_ns,
            end_time_ns=self._now_ns,
            outcome=found.outcome,
            outcome_reason=found.reason,
            exit_code=found.exit_code,
            program=program,
            command=command,
            signature=step_signature,
            error_class=error_class,
            error_line=error_line,
            arguments=canonical_json(call.arguments)[:OUTPUT_HEAD_CHARS],
            output=plain(text[:OUTPUT_HEAD_CHARS]),
            turn_index=self._turn,
            step_index=waiting.step_index,
        )


def _still_running(text: str) -> str:
    found = _SHELL_RUNS.search(text[-400:])
    return found[1] if found else ""
