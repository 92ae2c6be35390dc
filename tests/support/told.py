"""Agent sessions told in a few lines, as mining reads them and as the spans that capture would have sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from spanlore.genai.inference import CallClass, Dialect, Inference, Usage
from spanlore.genai.messages import Message, Part, Role, Text, ToolCall, ToolResult, canonical_json
from spanlore.signature.command import tool_program
from spanlore.signature.failure import signature_of
from spanlore.spans.encode import encode
from spanlore.spans.ids import conversation_id_of, inference_span_id, tool_span_id, trace_id_of, turn_span_id
from spanlore.spans.place import (
    Channel,
    HumanMessage,
    Observation,
    Outcome,
    Place,
    ToolExecution,
    Turn,
    Workplace,
)
from spanlore.spans.record import SpanRecord
from spanlore_extractor.mining.session import (
    OUTPUT_HEAD_CHARS,
    AgentStep,
    Conversation,
    HumanStep,
    MinedSession,
    Step,
    ToolStep,
)

SECOND_NS = 1_000_000_000
START_NS = 1_796_000_000 * SECOND_NS
"""30 November 2026."""


@dataclass
class _Request:
    """One request of the agent, with what the model answered."""

    turn: int
    human: list[HumanMessage] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    calls: list[tuple[ToolCall, str, Outcome, str, int | None]] = field(default_factory=list)


class Told:
    """A session as it goes: `human`, `agent`, `call`. Every call is an inference of its own unless `parallel`."""

    def __init__(
        self,
        session_id: str = "session-1",
        repository: str = "github.com/example/tally",
        harness: str = "claude-code",
        start_ns: int = START_NS,
        cwd: str = "/home/dev/tally",
        call_class: CallClass = CallClass.MAIN,
    ) -> None:
        self.workplace = Workplace(harness=harness, repository=repository, branch="main", cwd=cwd)
        self.session_id = session_id
        self.start_ns = start_ns
        self.call_class = call_class
        self._requests: list[_Request] = []
        self._ends: dict[int, str] = {}
        self._turn = -1

    def human(self, text: str, channel: Channel = Channel.USER_MESSAGE, interrupting: bool = False) -> Self:
        """A person typed `text`; with `interrupting` they stopped the agent for it."""
        if channel is Channel.USER_MESSAGE:
            if interrupting:
                self._ends[self._turn] = "interrupted"
            self._turn += 1
        self._requests.append(_Request(max(self._turn, 0), human=[HumanMessage(channel, text)]))
        return self

    def agent(self, text: str) -> Self:
        """The agent said `text`."""
        self._open().said.append(text)
        return self

    def call(
        self,
        name: str,
        arguments: dict[str, Any],
        output: str = "",
        outcome: Outcome = Outcome.SUCCESS,
        reason: str = "",
        exit_code: int | None = None,
        parallel: bool = False,
    ) -> Self:
        """A tool call with its answer."""
        request = self._requests[-1] if parallel else self._open()
        number = sum(len(item.calls) for item in self._requests)
        call = ToolCall(f"toolu_{number}", name, arguments)
        request.calls.append((call, output, outcome, reason, exit_code))
        return self

    def run(self, command: str, output: str = "", exit_code: int = 0, parallel: bool = False) -> Self:
        """A shell command; an exit code that is not 0 makes it a failure."""
        outcome = Outcome.FAILURE if exit_code else Outcome.SUCCESS
        text = f"Exit code {exit_code}\n{output}" if exit_code else output
        reason = "exit_code" if exit_code else ""
        return self.call("Bash", {"command": command}, text, outcome, reason, exit_code or None, parallel)

    def fails(self, name: str, arguments: dict[str, Any], output: str) -> Self:
        """A file tool that refused."""
        return self.call(name, arguments, output, Outcome.FAILURE, "is_error")

    def rejects(self, name: str, arguments: dict[str, Any], reason: str = "") -> Self:
        """A call the person did not let run, for a reason they typed, if any."""
        self.call(
            name, arguments, "The user doesn't want to proceed with this tool use.", Outcome.REJECTED, "user_rejected"
        )
        return self.human(reason, Channel.REJECTION_REASON) if reason else self

    def session(self) -> MinedSession:
        """As mining reads it."""
        steps: list[Step] = []
        for index, request in enumerate(self._requests):
            steps += self._steps(index, request)
        conversation = Conversation(self.conversation, tuple(steps), self.call_class)
        place = self.workplace
        return MinedSession(
            self.session_id, (conversation,), place.harness, place.repository, place.sub_path, place.branch, place.cwd
        )

    @property
    def conversation(self) -> str:
        """The only conversation's key."""
        return conversation_id_of(self.session_id, "", "first")

    def spans(self) -> list[SpanRecord]:
        """As capture sends it."""
        out: list[SpanRecord] = []
        answered: tuple[ToolExecution, ...] = ()
        for index, request in enumerate(self._requests):
            observation = Observation(
                place=self._place(index, request),
                workplace=self.workplace,
                human=tuple(request.human),
                tools=answered,
                turns=self._turns_over(index),
            )
            out += encode(self._inference(index, request), observation, request_seed=str(index), price=None)
            answered = tuple(self._executions(index, request))
        last = len(self._requests)
        closing = _Request(self._requests[-1].turn)
        observation = Observation(
            self._place(last, closing), self.workplace, tools=answered, turns=(self._turn_over(closing.turn),)
        )
        out += encode(self._inference(last, closing), observation, request_seed=str(last), price=None)
        return out

    def _open(self) -> _Request:
        """The request a new thing belongs to: the last one while it has no calls yet, else another."""
        if not self._requests or self._requests[-1].calls:
            self._requests.append(_Request(max(self._turn, 0)))
        return self._requests[-1]

    def _start(self, index: int) -> int:
        return self.start_ns + index * 4 * SECOND_NS

    def _ids(self, index: int, request: _Request) -> tuple[str, str]:
        span = inference_span_id(self.conversation, str(index), 1).hex()
        return trace_id_of(self.conversation, str(request.turn)).hex(), span

    def _steps(self, index: int, request: _Request) -> list[Step]:
        trace, span = self._ids(index, request)
        start_ns = self._start(index)
        out: list[Step] = [
            HumanStep(
                trace, span, start_ns, human.channel, human.text, ordinal, request.turn, index,
                self._ends.get(request.turn - 1) == "interrupted" and human.channel is Channel.USER_MESSAGE,
            )
            for ordinal, human in enumerate(request.human)
        ]  # fmt: skip
        out += [AgentStep(trace, span, start_ns, text[-600:], request.turn, index) for text in request.said]
        out += [self._tool_step(tool, index) for tool in self._executions(index, request)]
        return out

    def _tool_step(self, tool: ToolExecution, index: int) -> ToolStep:
        assert tool.result is not None
        return ToolStep(
            trace_id=tool.trace_id.hex(),
            span_id=tool_span_id(self.conversation, tool.call.id).hex(),
            tool_call_id=tool.call.id,
            tool_name=tool.call.name,
            start_time_ns=tool.start_time_ns,
            end_time_ns=tool.end_time_ns,
            outcome=tool.outcome,
            outcome_reason=tool.outcome_reason,
            exit_code=tool.exit_code,
            program=tool.program,
            command=tool.command,
            signature=tool.signature,
            error_class=tool.error_class,
            error_line=tool.error_line,
            arguments=canonical_json(tool.call.arguments)[:OUTPUT_HEAD_CHARS],
            output=tool.result.response[:OUTPUT_HEAD_CHARS],
            turn_index=tool.turn_index,
            step_index=index,
        )

    def _executions(self, index: int, request: _Request) -> list[ToolExecution]:
        return [self._execution(index, request, *call) for call in request.calls]

    def _execution(
        self,
        index: int,
        request: _Request,
        call: ToolCall,
        output: str,
        outcome: Outcome,
        reason: str,
        code: int | None,
    ) -> ToolExecution:
        program, command = tool_program(call)
        made = ToolExecution(
            call=call,
            result=ToolResult(call.id, output, outcome is Outcome.FAILURE),
            start_time_ns=self._start(index) + 2 * SECOND_NS,
            end_time_ns=self._start(index + 1),
            outcome=outcome,
            outcome_reason=reason,
            exit_code=code,
            program=program,
            command=command,
            step_index=index,
            turn_index=request.turn,
            trace_id=trace_id_of(self.conversation, str(request.turn)),
            turn_span_id=turn_span_id(self.conversation, str(request.turn)),
        )
        if outcome is not Outcome.FAILURE:
            return made
        found = signature_of(call, output, code)
        return replace(made, signature=found.hash, error_class=found.error_class, error_line=found.error_line)

    def _place(self, index: int, request: _Request) -> Place:
        return Place(
            session_id=self.session_id,
            session_inferred=False,
            conversation=self.conversation,
            trace_id=trace_id_of(self.conversation, str(request.turn)),
            turn_span_id=turn_span_id(self.conversation, str(request.turn)),
            turn_index=request.turn,
            step_index=index,
            call_class=self.call_class,
        )

    def _inference(self, index: int, request: _Request) -> Inference:
        parts: tuple[Part, ...] = (*(Text(text) for text in request.said), *(call for call, *_ in request.calls))
        start_ns = self._start(index)
        return Inference(
            dialect=Dialect.ANTHROPIC_MESSAGES,
            provider="anthropic",
            operation="chat",
            request_model="claude-sonnet-5-5",
            start_time_ns=start_ns,
            end_time_ns=start_ns + 2 * SECOND_NS,
            output=(Message(Role.ASSISTANT, parts),) if parts else (),
            usage=Usage(1000, 50),
        )

    def _turns_over(self, index: int) -> tuple[Turn, ...]:
        before = self._requests[index - 1].turn if index else self._requests[0].turn
        return (self._turn_over(before),) if before != self._requests[index].turn else ()

    def _turn_over(self, turn: int) -> Turn:
        indexes = [index for index, request in enumerate(self._requests) if request.turn == turn]
        return Turn(
            trace_id=trace_id_of(self.conversation, str(turn)),
            span_id=turn_span_id(self.conversation, str(turn)),
            turn_index=turn,
            start_time_ns=self._start(indexes[0]),
            end_time_ns=self._start(indexes[-1] + 1),
            inferences=len(indexes),
            end=self._ends.get(turn, "completed"),
        )


def failing_tests(session_id: str, start_ns: int = START_NS, **about: Any) -> Told:
    """A session in which `rtk bun run test` is found not to work, and `bun run test` to work."""
    return (
        Told(session_id, start_ns=start_ns, **about)
        .human("Run the tests.")
        .run("rtk bun run test 2>&1", "error: unrecognized subcommand 'bun'\n\nUsage: rtk [OPTIONS] <COMMAND>", 2)
        .run("bun run test 2>&1", "13 pass\n0 fail")
        .agent("All tests pass.")
    )


def corrected(session_id: str, words: str, start_ns: int = START_NS, **about: Any) -> Told:
    """A session whose user corrects the agent with `words` after it did something."""
    told = Told(session_id, start_ns=start_ns, **about).human("Run the tests.").run("pytest -q", "3 passed")
    return told.agent("They pass.").human(words)


def steps_of(told: Told) -> Sequence[Step]:
    """The steps of its conversation."""
    return told.session().conversations[0].steps
