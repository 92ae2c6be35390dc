"""Puts a transcript's events together into a `Conversation`, with the outcome and signature the proxy would have
recorded. The span id of a step is the number of the line it stands on, so a label can be found again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from spanlore.genai.messages import ToolCall, canonical_json
from spanlore.signature.command import parse_command, shell_text, tool_program
from spanlore.signature.failure import signature_of
from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.evaluation.outcomes import judge
from spanlore_extractor.mining.session import OUTPUT_HEAD_CHARS, AgentStep, HumanStep, Step, ToolStep

_SECOND_NS = 10**9


def nanoseconds(stamp: Any) -> int:
    """An ISO 8601 stamp as nanoseconds since the epoch; 0 when there is none."""
    if not isinstance(stamp, str) or not stamp:
        return 0
    return int(datetime.fromisoformat(stamp).timestamp() * 1e6) * 1000


class ConversationBuilder:
    """Collects steps in the order of the file."""

    def __init__(self) -> None:
        self._steps: list[Step | None] = []
        self._open: dict[str, tuple[int, int, int, ToolCall, int]] = {}
        self._now_ns = 0
        self._step = 0
        self._turn = 0
        self._interrupted = False

    def tick(self, stamp: Any) -> None:
        """The clock goes to `stamp`, or on by a second where the file has no times."""
        self._now_ns = max(nanoseconds(stamp), self._now_ns) if stamp else self._now_ns + _SECOND_NS

    def next_inference(self) -> None:
        """What follows is from another answer of the model."""
        self._step += 1

    def interrupted(self) -> None:
        """The person stopped the agent."""
        self._interrupted = True

    def call(self, line: int, call_id: str, name: str, arguments: Any) -> None:
        """The model asks for a tool."""
        self._open[call_id] = (len(self._steps), line, self._now_ns, ToolCall(call_id, name, arguments), self._step)
        self._steps.append(None)

    def result(self, call_id: str, text: str, is_error: bool | None) -> None:
        """The answer to a call; one that nobody asked for is left out."""
        if call_id not in self._open:
            return
        index, line, start_ns, call, step = self._open.pop(call_id)
        self._steps[index] = self._tool_step(line, start_ns, call, step, text, is_error)

    def human(self, line: int, text: str, channel: Channel = Channel.USER_MESSAGE) -> None:
        """A person typed `text`."""
        if channel is Channel.USER_MESSAGE:
            self._turn += 1
        self._steps.append(
            HumanStep(
                trace_id=f"{self._turn:032x}",
                span_id=f"{line:016x}",
                time_ns=self._now_ns,
                channel=channel,
                text=text,
                turn_index=self._turn,
                step_index=self._step,
                is_interruption=self._interrupted,
            )
        )
        self._interrupted = False

    def agent(self, line: int, text: str) -> None:
        """The agent said `text`."""
        if text.strip():
            self._steps.append(
                AgentStep(f"{self._turn:032x}", f"{line:016x}", self._now_ns, text, self._turn, self._step)
            )

    def steps(self) -> tuple[Step, ...]:
        """All steps whose answer is known."""
        return tuple(step for step in self._steps if step is not None)

    def _tool_step(
        self, line: int, start_ns: int, call: ToolCall, step: int, text: str, is_error: bool | None
    ) -> ToolStep:
        program, command = tool_program(call)
        shell = shell_text(call)
        parsed = parse_command(shell or "")
        last = parsed.decider[0] if parsed.decider else program
        verdict = judge(text, is_error, last, bool(parsed.decider_feeds_on))
        step_signature = error_class = error_line = ""
        if verdict.outcome is Outcome.FAILURE:
            signature = signature_of(call, text, verdict.exit_code)
            step_signature, error_class, error_line = signature.hash, signature.error_class, signature.error_line
        return ToolStep(
            trace_id=f"{self._turn:032x}",
            span_id=f"{line:016x}",
            tool_call_id=call.id,
            tool_name=call.name,
            start_time_ns=start_ns,
            end_time_ns=self._now_ns,
            outcome=verdict.outcome,
            outcome_reason=verdict.reason,
            exit_code=verdict.exit_code,
            program=program,
            command=command,
            signature=step_signature,
            error_class=error_class,
            error_line=error_line,
            arguments=canonical_json(call.arguments)[:OUTPUT_HEAD_CHARS],
            output=text[:OUTPUT_HEAD_CHARS],
            turn_index=self._turn,
            step_index=step,
        )
