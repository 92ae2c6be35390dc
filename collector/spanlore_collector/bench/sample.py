"""Spans like those of a coding agent's day: a chat and its tool calls, about 2 KB of content each, all distinct."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from decimal import Decimal

import orjson

from spanlore.genai.inference import Dialect, Inference, Usage
from spanlore.genai.messages import Message, Role, Text, ToolCall, ToolResult
from spanlore.spans.encode import encode
from spanlore.spans.ids import conversation_id_of, trace_id_of, turn_span_id
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

type Speech = Callable[[random.Random, int], str]

_STEPS_PER_TURN = 8
_SYLLABLES = ("ka", "lo", "mi", "ren", "tu", "sha", "po", "vel", "da", "xi", "nor", "ba", "que", "fi", "gan", "hu")
_PROGRAMS = ("pytest", "git", "rg", "uv", "make", "python")


def sample_spans(
    count: int, *, seed: int = 1, start_time_ns: int = 1_790_000_000_000_000_000, text: Speech | None = None
) -> list[SpanRecord]:
    """`count` spans, the same for the same arguments. `text` gives what is said, instead of made-up words."""
    chance = random.Random(seed)
    out: list[SpanRecord] = []
    for session in range(count):
        if len(out) >= count:
            break
        out.extend(
            _session(chance, f"session-{seed}-{session}", start_time_ns + session * 60_000_000_000, text or text_of)
        )
    return out[:count]


def _session(chance: random.Random, session_id: str, start_ns: int, text: Speech) -> Iterator[SpanRecord]:
    conversation = conversation_id_of(session_id, "", "")
    workplace = Workplace(
        harness="claude-code",
        harness_version="2.1.197",
        repository="github.com/acme/widgets",
        branch="main",
        cwd="/src",
    )
    for turn in range(3):
        seed = f"{session_id}-{turn}"
        trace_id, turn_id = trace_id_of(conversation, seed), turn_span_id(conversation, seed)
        human = (HumanMessage(Channel.USER_MESSAGE, text_of(chance, 200)),)
        for step in range(_STEPS_PER_TURN):
            number = turn * _STEPS_PER_TURN + step
            now_ns = start_ns + number * 5_000_000_000
            place = Place(session_id, False, conversation, trace_id, turn_id, turn, number)
            is_last = step == _STEPS_PER_TURN - 1
            turns = (Turn(trace_id, turn_id, turn, start_ns, now_ns, human, step + 1, step),) if is_last else ()
            tools = (_tool(chance, f"toolu_{seed}_{step}", now_ns, number, turn, text),) if step else ()
            injected = _injected(is_first=number == 0)
            observation = Observation(place, workplace, human if step == 0 else (), tools, turns, injected)
            price = Price(Decimal("0.012345678"), Decimal("0.01"), Decimal("0.002345678"))
            yield from encode(
                _inference(chance, f"{seed}_{step}", now_ns, tools, text),
                observation,
                request_seed=f"msg_{seed}_{step}",
                price=price,
            )


def _injected(*, is_first: bool) -> Injected:
    """A session block of two memories, replayed in every request."""
    ids = ("m-0123456789ab", "m-ba9876543210")
    block = {
        "kind": "session_block",
        "state": "shown",
        "anchor": "system",
        "memory_ids": ids,
        "bytes": 520,
        "first": is_first,
        "position": -1,
        "sizes": (140, 150),
    }
    return Injected(ids, 560, orjson.dumps([block]).decode())


def _tool(chance: random.Random, call_id: str, now_ns: int, step: int, turn: int, text: Speech) -> ToolExecution:
    program = chance.choice(_PROGRAMS)
    command = f"{program} {text_of(chance, 40)}"
    failed = chance.random() < 0.2
    return ToolExecution(
        call=ToolCall(call_id, "Bash", {"command": command}),
        result=ToolResult(call_id, text(chance, 1700), failed),
        start_time_ns=now_ns - 3_000_000_000,
        end_time_ns=now_ns,
        outcome=Outcome.FAILURE if failed else Outcome.SUCCESS,
        outcome_reason="exit_code" if failed else "",
        exit_code=int(failed),
        program=program,
        command=command,
        signature=f"{chance.getrandbits(64):016x}" if failed else "",
        error_class="AssertionError" if failed else "",
        error_line=text_of(chance, 60) if failed else "",
        step_index=step,
        turn_index=turn,
    )


def _inference(
    chance: random.Random, seed: str, now_ns: int, tools: tuple[ToolExecution, ...], text: Speech
) -> Inference:
    results = tuple(Message(Role.USER, (tool.result,)) for tool in tools if tool.result is not None)
    said = text(chance, 300 if tools else 1700)
    return Inference(
        dialect=Dialect.ANTHROPIC_MESSAGES,
        provider="anthropic",
        operation="chat",
        request_model="claude-opus-4-7",
        start_time_ns=now_ns,
        end_time_ns=now_ns + 2_000_000_000,
        is_streaming=True,
        first_chunk_time_ns=now_ns + 700_000_000,
        response_model="claude-opus-4-7",
        response_id=f"msg_{seed}",
        provider_request_id=f"req_{seed}",
        message_count=20,
        new_from=18,
        new_messages=results,
        output=(
            Message(Role.ASSISTANT, (Text(said), ToolCall(f"next_{seed}", "Bash", {"command": "make"})), "tool_call"),
        ),
        finish_reasons=("tool_call",),
        usage=Usage(30_000, 400, 28_000, 1_500, 1_500),
        status_code=200,
        server_address="api.anthropic.com",
        request_bytes=120_000,
        response_bytes=4_000,
    )


def text_of(chance: random.Random, size: int) -> str:
    """About `size` characters of made-up words."""
    words = ("".join(chance.choices(_SYLLABLES, k=chance.randint(1, 3))) for _ in range(size // 5 + 1))
    return " ".join(words)[:size]
