"""Sessions told step by step, with exact times: model calls, tools side by side, sub-agents, what was injected."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson

from spanlore.genai.inference import CallClass, Dialect, Inference, InferenceError, Usage
from spanlore.genai.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult
from spanlore.spans.encode import encode
from spanlore.spans.ids import conversation_id_of, inference_span_id, tool_span_id, trace_id_of, turn_span_id
from spanlore.spans.place import (
    Channel,
    HumanMessage,
    Injected,
    Observation,
    Outcome,
    Place,
    ToolExecution,
    Turn,
    Workplace,
)
from spanlore.spans.price import Price
from spanlore.spans.record import SpanRecord

SECOND_NS = 1_000_000_000
WORKPLACE = Workplace(
    run_id="r1", harness="claude-code", harness_version="2.1", repository="github.com/acme/widgets", branch="main"
)


@dataclass(frozen=True)
class Did:
    """A tool call and how it went."""

    name: str
    arguments: dict[str, Any]
    output: str
    takes_s: float = 1.0
    outcome: Outcome = Outcome.SUCCESS
    exit_code: int | None = None
    error_class: str = ""
    error_line: str = ""

    @property
    def command(self) -> str:
        return str(self.arguments.get("command") or self.arguments.get("file_path") or "")


@dataclass
class Teller:
    """One conversation of a session."""

    session_id: str
    now_ns: int
    workplace: Workplace = WORKPLACE
    model: str = "claude-sonnet-4-5"
    agent: str = ""
    parent: tuple[str, bytes, bytes] | None = None
    """Of a sub-agent: conversation, trace and span of the tool call that started it."""
    spans: list[SpanRecord] = field(default_factory=list)
    _turn: int = -1
    _step: int = -1
    _human: tuple[HumanMessage, ...] = ()
    _prompt: str = ""
    _attached: tuple[Part, ...] = ()
    _began_ns: int = 0
    _counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    _answers: list[ToolExecution] = field(default_factory=list)
    chats: list[str] = field(default_factory=list)
    """Ids of the model calls' spans."""

    @property
    def conversation(self) -> str:
        return conversation_id_of(self.session_id, self.agent, "")

    @property
    def _seed(self) -> str:
        return f"{self.session_id}/{self.agent}/{self._turn}"

    @property
    def prompt(self) -> str:
        """What the user said last."""
        return self._prompt

    def turn(self, prompt: str, wait_s: float = 0, attached: tuple[Part, ...] = ()) -> Teller:
        """The user says something, and shows what is `attached`."""
        self._attached = attached
        self.now_ns += int(wait_s * SECOND_NS)
        self._turn, self._prompt, self._began_ns, self._counts = self._turn + 1, prompt, self.now_ns, [0, 0, 0]
        self._human = (HumanMessage(Channel.USER_MESSAGE, prompt),)
        return self

    def ask(
        self,
        text: str,
        *did: Did,
        takes_s: float = 2.0,
        reasoning: str = "",
        placements: list[dict[str, Any]] | None = None,
        error: str = "",
        tokens: tuple[int, int, int] = (12_000, 11_000, 250),
        price_usd: str | None = "0.0123",
        end: str = "",
    ) -> list[str]:
        """One model call, then its tools side by side; the ids of the tools' spans. `end` ends the turn."""
        self._step += 1
        seed, start, stop = f"{self._seed}/{self._step}", self.now_ns, self.now_ns + int(takes_s * SECOND_NS)
        calls = [ToolCall(f"toolu_{seed}_{n}", one.name, one.arguments) for n, one in enumerate(did)]
        answered = tuple(self._answers)
        self._answers = [self._execution(call, one, stop) for call, one in zip(calls, did, strict=True)]
        self._counts[0] += 1
        self._counts[1] += len(did)
        self._counts[2] += sum(one.outcome is Outcome.FAILURE for one in did)
        said = (*((Reasoning(reasoning),) if reasoning else ()), *((Text(text),) if text else ()), *calls)
        new = tuple(Message(Role.USER, (one.result,)) for one in answered if one.result is not None)
        prompt = (Message(Role.USER, (Text(self._prompt), *self._attached)),) if self._human else ()
        turns: tuple[Turn, ...] = ()
        if end:
            trace, span = trace_id_of(self.conversation, self._seed), turn_span_id(self.conversation, self._seed)
            human = (HumanMessage(Channel.USER_MESSAGE, self._prompt),)
            turns = (
                Turn(
                    trace,
                    span,
                    self._turn,
                    self._began_ns,
                    stop,
                    human,
                    self._counts[0],
                    self._counts[1],
                    self._counts[2],
                    end,
                ),
            )
        inference = Inference(
            dialect=Dialect.ANTHROPIC_MESSAGES,
            provider="anthropic",
            operation="chat",
            request_model=self.model,
            start_time_ns=start,
            end_time_ns=stop,
            is_streaming=True,
            first_chunk_time_ns=start + (stop - start) // 3,
            response_model=self.model,
            response_id=f"msg_{seed}",
            message_count=2 * self._step + 1,
            new_from=2 * self._step,
            new_messages=(*new, *prompt),
            output=() if error else (Message(Role.ASSISTANT, said, "tool_call" if did else "stop"),),
            finish_reasons=() if error else ("tool_call" if did else "stop",),
            usage=Usage() if error else Usage(tokens[0], tokens[2], tokens[1], 400),
            error=InferenceError(error) if error else None,
            status_code=529 if error else 200,
        )
        part = Decimal(price_usd) / 2 if price_usd and not error else None
        price = Price(part * 2, part, part) if part is not None else None
        observation = Observation(self._place(), self.workplace, self._human, answered, turns, _injected(placements))
        self.spans += encode(inference, observation, request_seed=f"msg_{seed}", price=price)
        self.chats.append(inference_span_id(self.conversation, f"msg_{seed}", 1).hex())
        self._human = ()
        self.now_ns = max([stop, *(one.end_time_ns for one in self._answers)])
        return [tool_span_id(self.conversation, call.id).hex() for call in calls]

    def sub_agent(self, tool_span: str, agent: str, start_ns: int) -> Teller:
        """The conversation that a tool call started."""
        trace = trace_id_of(self.conversation, self._seed)
        made = Teller(self.session_id, start_ns, self.workplace, self.model, agent)
        made.parent = (self.conversation, trace, bytes.fromhex(tool_span))
        return made

    def _execution(self, call: ToolCall, one: Did, start: int) -> ToolExecution:
        failed = one.outcome is Outcome.FAILURE
        return ToolExecution(
            call=call,
            result=ToolResult(call.id, one.output, failed),
            start_time_ns=start,
            end_time_ns=start + int(one.takes_s * SECOND_NS),
            outcome=one.outcome,
            outcome_reason="exit_code" if one.exit_code else "",
            exit_code=one.exit_code,
            program=one.command.split(" ")[0] if one.name == "Bash" else "",
            command=one.command,
            signature="00112233aabbccdd" if failed else "",
            error_class=one.error_class,
            error_line=one.error_line,
            step_index=self._step,
            turn_index=self._turn,
        )

    def _place(self) -> Place:
        conversation, trace, span = self.parent or ("", None, None)
        return Place(
            self.session_id,
            False,
            self.conversation,
            trace_id_of(self.conversation, self._seed),
            turn_span_id(self.conversation, self._seed),
            self._turn,
            self._step,
            parent_conversation=conversation,
            call_class=CallClass.SUBAGENT if self.parent else CallClass.MAIN,
            parent_trace_id=trace,
            parent_tool_span_id=span,
        )


def placed(kind: str, memory_ids: list[str], *, state: str = "shown", anchor: str = "system", **more: Any) -> Any:
    """A placement as the proxy writes it."""
    return {
        "kind": kind, "state": state, "anchor": anchor, "memory_ids": memory_ids, "bytes": 140, "first": True, **more,
    }  # fmt: skip


def _injected(placements: list[dict[str, Any]] | None) -> Injected:
    if not placements:
        return Injected(skipped="nothing", overhead_ns=180_000)
    ids = [one for item in placements if item["state"] == "shown" for one in item["memory_ids"]]
    return Injected(tuple(ids), 140 * len(ids), orjson.dumps(placements).decode(), "", 420_000)
