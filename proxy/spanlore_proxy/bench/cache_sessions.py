"""Made-up sessions for the cache benchmark, as the agents of both kinds of provider send them.

Every session has what injection acts on: prompts that name a memory, a command that fails as a memory knows, and much
that it must leave alone. The Anthropic client marks its system prompt and its newest block as Claude Code and OpenCode
do; the other one marks nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final

import orjson

from spanlore.memory.memory import Kind, Memory, Source, Status, Trigger, memory_id
from spanlore.signature.failure import failure_signature

SCOPE: Final = "bench.example/owner/repository"
COMMAND: Final = "pytest -q tests/unit"
FAILURE: Final = "Exit code 4\nImportError: No module named 'shop'"
PROMPTS: Final = (
    "Apply the alembic migrations to the test database, then tell me what changed in the schema.",
    "Bring the stack up with docker compose and check that the checkout page answers with 200.",
    "Look into services/billing/invoices.py and explain how a credit note is numbered there.",
)
_OPENS: Final = " Step 0."
"""In the prompt that a session begins with."""
_WORDS: Final = (
    "invoice", "cart", "order", "checkout", "ledger", "tenant", "queue",
    "worker", "retry", "cache", "shard", "index", "schema", "column",
)  # fmt: skip


def memories() -> list[Memory]:
    """What is known of the repository: one for a failure, some for prompts, some that are always shown."""
    signature = failure_signature("Bash", COMMAND, FAILURE, 4)
    made = [
        make_memory("pytest", "uv run pytest", Trigger((signature.hash,), signature.program, signature.error_class)),
        make_memory("alembic", "make migrate"),
        make_memory("docker compose", "docker compose --env-file deploy/dev.env up"),
    ]
    return [*made, *(make_memory(f"tool{n}", f"make tool-{n}") for n in range(40))]


def make_memory(subject: str, value: str, trigger: Trigger | None = None) -> Memory:
    """A usage memory of `SCOPE`."""
    return Memory(
        id=memory_id(SCOPE, Kind.USAGE, subject, "invocation", value),
        kind=Kind.USAGE,
        source=Source.FAILURE_DELTA,
        status=Status.ACTIVE,
        scope=SCOPE,
        text=f"`{subject}` fails here; `{value}` is the form that works.",
        subject=subject,
        slot="invocation",
        value=value,
        trigger=trigger or Trigger(),
        session_count=3,
        alpha=4,
    )


def anthropic_bodies(requests: int, seed: int = 1) -> Iterator[bytes]:
    """A Messages session: breakpoints on the last system block and on the newest block."""
    system = [
        {"type": "text", "text": prose(random.Random(0), 2_000)},
        {"type": "text", "text": prose(random.Random(1), 6_000), "cache_control": {"type": "ephemeral"}},
    ]
    tools = [{"name": "Bash", "description": prose(random.Random(2), 3_000), "input_schema": {"type": "object"}}]
    messages: list[dict[str, Any]] = []
    for turn in _turns(requests, seed):
        messages += _anthropic(turn)
        last = messages[-1]["content"]
        marked = [*last[:-1], {**last[-1], "cache_control": {"type": "ephemeral"}}]
        sent = [*messages[:-1], {**messages[-1], "content": marked}]
        yield orjson.dumps({"model": "claude-x", "system": system, "tools": tools, "messages": sent, "stream": True})


def chat_bodies(requests: int, seed: int = 1) -> Iterator[bytes]:
    """A Chat Completions session: nothing is marked."""
    tools = [{"type": "function", "function": {"name": "run", "description": prose(random.Random(2), 3_000)}}]
    messages: list[dict[str, Any]] = [{"role": "system", "content": prose(random.Random(0), 8_000)}]
    for turn in _turns(requests, seed):
        messages += _chat(turn)
        yield orjson.dumps({"model": "gpt-x", "messages": messages, "tools": tools, "stream": True})


type _Turn = tuple[str, str, str]
"""(call id, command, output), or ('', '', prompt)."""


def _turns(requests: int, seed: int) -> Iterator[_Turn]:
    chance = random.Random(seed)
    for number in range(requests):
        if number % 12 == 0:
            yield "", "", f"{PROMPTS[number // 12 % len(PROMPTS)]} Step {number}. {prose(chance, 200)}"
        elif number % 17 == 5:
            yield f"call_{number}", COMMAND, FAILURE
        else:
            yield f"call_{number}", f"rg -n {chance.choice(_WORDS)} src/part_{number}", prose(chance, 1_500)


def _anthropic(turn: _Turn) -> list[dict[str, Any]]:
    call_id, command, said = turn
    if not call_id:
        answer = [] if _OPENS in said else [{"role": "assistant", "content": [{"type": "text", "text": "Done."}]}]
        return [*answer, {"role": "user", "content": [{"type": "text", "text": said}]}]
    call = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": said, "is_error": said.startswith("Exit code")}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def _chat(turn: _Turn) -> list[dict[str, Any]]:
    call_id, command, said = turn
    if not call_id:
        answer = [] if _OPENS in said else [{"role": "assistant", "content": "Done."}]
        return [*answer, {"role": "user", "content": said}]
    function = {"name": "run_shell_command", "arguments": orjson.dumps({"command": command}).decode()}
    call = {"id": call_id, "type": "function", "function": function}
    is_error = said.startswith("Exit code ")
    code, _, output = said.removeprefix("Exit code ").partition("\n") if is_error else ("0", "", said)
    text = f"Command: {command}\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}"
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
    ]


def prose(chance: random.Random, size: int) -> str:
    """So many characters of words."""
    return " ".join(chance.choices(_WORDS, k=size // 7 + 1))[:size]
