"""Made-up sessions of a store's usual shape, so that mining can be measured at any size.

A session has four turns of six exchanges, a tool call in each. One failure is answered by another form of the command,
one by a change of a file, one by nothing; one message corrects the agent, one confirms. Which commands, words and files
is drawn from small sets, so that lessons come back in other sessions, as they do.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.inference import Dialect, Inference, Usage
from spanlore.genai.messages import Message, Part, Role, Text, ToolCall, ToolResult
from spanlore.signature.command import tool_program
from spanlore.signature.failure import signature_of
from spanlore.spans.encode import encode
from spanlore.spans.ids import conversation_id_of, trace_id_of, turn_span_id
from spanlore.spans.place import Channel, HumanMessage, Observation, Outcome, Place, ToolExecution, Turn, Workplace
from spanlore.spans.record import SpanRecord

TURNS: Final = 4
EXCHANGES: Final = 6
SPANS_PER_SESSION: Final = TURNS * (2 * EXCHANGES + 1)
START_NS: Final = 1_790_000_000 * 10**9
SECOND_NS: Final = 10**9
_PROGRAMS: Final = ("bun", "npm", "pnpm", "make", "cargo", "go", "uv", "just")
_WORDS: Final = ("test", "lint", "build", "format", "check", "bench", "docs", "types")
_PROMPTS: Final = ("Fix the failing test.", "Add the option.", "Rename the module.", "Write the docs.")
_RULES: Final = ("no, use tabs in {}", "don't touch {}", "never edit {} by hand", "that's not how {} works")


@dataclass(frozen=True, slots=True)
class _Step:
    """One exchange: what was said, the call it asked for, and what that brought."""

    call: ToolCall
    output: str
    exit_code: int | None = None
    human: HumanMessage | None = None


def session_spans(number: int) -> list[SpanRecord]:
    """The spans of session `number`, as capture sends them: `SPANS_PER_SESSION` of them."""
    chance = random.Random(number)
    made = _Session(number, chance.choice(_REPOSITORIES))
    return list(made.spans(list(_steps(chance))))


_REPOSITORIES: Final = tuple(f"example.org/team/project-{index}" for index in range(20))


def _steps(chance: random.Random) -> Iterator[_Step]:
    program, word, area = chance.choice(_PROGRAMS), chance.choice(_WORDS), chance.randrange(40)
    file = f"/srv/app/src/area_{area}/module.py"
    said = {
        0: chance.choice(_PROMPTS),
        1: chance.choice(_RULES).format(f"src/area_{area}"),
        2: chance.choice(_PROMPTS),
        3: "looks good, push it",
    }
    for turn in range(TURNS):
        for exchange in range(EXCHANGES):
            human = HumanMessage(Channel.USER_MESSAGE, said[turn]) if exchange == 0 else None
            id_ = f"toolu_{turn}_{exchange}_{chance.randrange(10**9)}"
            yield _step(id_, turn, exchange, program, word, file, human)


def _step(id_: str, turn: int, exchange: int, program: str, word: str, file: str, human: HumanMessage | None) -> _Step:
    match turn, exchange:
        case 0, 1:
            failing = ToolCall(id_, "Bash", {"command": f"rtk {program} {word} 2>&1"})
            return _Step(failing, f"error: unrecognized subcommand '{program}'", 2, human)
        case 0, 2:
            return _Step(ToolCall(id_, "Bash", {"command": f"{program} {word} 2>&1"}), "13 pass\n0 fail", None, human)
        case 2, 1:
            output = f"FAILED {file}::test_{word} - AssertionError: expected '{word}'"
            return _Step(ToolCall(id_, "Bash", {"command": f"{program} run {word}"}), output, 1, human)
        case 2, 2:
            return _Step(ToolCall(id_, "Edit", {"file_path": file, "new_string": word}), "updated", None, human)
        case 2, 3:
            return _Step(ToolCall(id_, "Bash", {"command": f"{program} run {word}"}), "1 passed", None, human)
        case 3, 1:
            return _Step(
                ToolCall(id_, "Bash", {"command": "git status --porcelaim"}), "error: unknown option", 129, human
            )
        case _:
            return _Step(ToolCall(id_, "Read", {"file_path": file}), f"def {word}():\n    ...\n" * 8, None, human)


class _Session:
    def __init__(self, number: int, repository: str) -> None:
        self._id = f"bench-{number:08}"
        self._conversation = conversation_id_of(self._id, "", "")
        self._start_ns = START_NS + number * 600 * SECOND_NS
        self._workplace = Workplace(harness="claude-code", repository=repository, branch="main", cwd="/srv/app")

    def spans(self, steps: list[_Step]) -> Iterator[SpanRecord]:
        """An exchange tells the tool of the one before; the last tells its own turn's end, too."""
        waiting: ToolExecution | None = None
        for index, step in enumerate(steps):
            turn = index // EXCHANGES
            over = (self._turn(turn - 1),) if index % EXCHANGES == 0 and turn else ()
            yield from self._exchange(index, turn, (step.human,) if step.human else (), waiting, over, step.call)
            waiting = self._execution(index, turn, step)
        end = (self._turn(TURNS - 1),)
        *closing, _ = self._exchange(len(steps), TURNS - 1, (), waiting, end, None)
        yield from closing

    def _exchange(
        self,
        index: int,
        turn: int,
        human: tuple[HumanMessage, ...],
        tool: ToolExecution | None,
        over: tuple[Turn, ...],
        call: ToolCall | None,
    ) -> list[SpanRecord]:
        observation = Observation(
            self._place(turn, index), self._workplace, human=human, tools=(tool,) if tool else (), turns=over
        )
        parts: tuple[Part, ...] = (Text(f"Step {index}."), *((call,) if call else ()))
        inference = Inference(
            dialect=Dialect.ANTHROPIC_MESSAGES,
            provider="anthropic",
            operation="chat",
            request_model="claude-sonnet-4-5",
            start_time_ns=self._at(index),
            end_time_ns=self._at(index) + SECOND_NS,
            output=(Message(Role.ASSISTANT, parts),),
            usage=Usage(1000, 50),
        )
        return encode(inference, observation, request_seed=str(index), price=None)

    def _execution(self, index: int, turn: int, step: _Step) -> ToolExecution:
        program, command = tool_program(step.call)
        made = ToolExecution(
            call=step.call,
            result=ToolResult(step.call.id, step.output, step.exit_code is not None),
            start_time_ns=self._at(index) + SECOND_NS,
            end_time_ns=self._at(index + 1),
            outcome=Outcome.SUCCESS if step.exit_code is None else Outcome.FAILURE,
            exit_code=step.exit_code,
            program=program,
            command=command,
            step_index=index,
            turn_index=turn,
            trace_id=trace_id_of(self._conversation, str(turn)),
            turn_span_id=turn_span_id(self._conversation, str(turn)),
        )
        if step.exit_code is None:
            return made
        found = signature_of(step.call, step.output, step.exit_code)
        return replace(made, signature=found.hash, error_class=found.error_class, error_line=found.error_line)

    def _turn(self, turn: int) -> Turn:
        first = turn * EXCHANGES
        return Turn(
            trace_id=trace_id_of(self._conversation, str(turn)),
            span_id=turn_span_id(self._conversation, str(turn)),
            turn_index=turn,
            start_time_ns=self._at(first),
            end_time_ns=self._at(first + EXCHANGES),
            inferences=EXCHANGES,
            tool_calls=EXCHANGES,
        )

    def _place(self, turn: int, index: int) -> Place:
        return Place(
            session_id=self._id,
            session_inferred=False,
            conversation=self._conversation,
            trace_id=trace_id_of(self._conversation, str(turn)),
            turn_span_id=turn_span_id(self._conversation, str(turn)),
            turn_index=turn,
            step_index=index,
        )

    def _at(self, index: int) -> int:
        return self._start_ns + index * 4 * SECOND_NS
