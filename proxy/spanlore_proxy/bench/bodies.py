"""Request bodies for the benchmark: a coding agent's conversation in the Anthropic Messages shape.

Sizes are those of the budgets (`budgets.SIZES`): 10 KB, 200 KB, 1 MB. Every request of a conversation resends the whole
past and adds one tool call with its result, as agents do; the text is made from a fixed seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import orjson

PROSE = (
    "the build fails because module config is missing from path src return value test assert expected actual import "
    "function class handler request response index cache token error line file directory package version update"
)
WORDS = tuple(PROSE.split(" "))
MESSAGE_BYTES = 2200
"""Size of one tool result; 450 messages make about 1 MB, as measured sessions do."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Bodies of consecutive requests, each a little longer than the one before."""

    session_id: str
    opening: bytes
    """The session's first request, one user message: where spanlore decides on its block. Sent first, never timed."""
    bodies: tuple[bytes, ...]


def conversation(target_bytes: int, requests: int, seed: int, session_id: str) -> Conversation:
    """`requests` bodies whose first is about `target_bytes` long."""
    rng = random.Random(seed)
    messages: list[dict[str, Any]] = [{"role": "user", "content": [_text(_prose(rng, 400))]}]
    system = [_text("You are a coding agent."), {**_text(_prose(rng, 1500)), "cache_control": {"type": "ephemeral"}}]
    tools = [_tool(name, rng) for name in ("Bash", "Read", "Edit")]
    opening = _body(system, tools, messages, session_id)
    step, size = 0, len(opening)
    while size < target_bytes - MESSAGE_BYTES:
        more = _step(rng, step)
        messages += more
        size += len(orjson.dumps(more)) - 1  # two brackets less, one comma more
        step += 1
    bodies = []
    for _ in range(requests):
        bodies.append(_body(system, tools, messages, session_id))
        messages = [*messages, *_step(rng, step, short=True)]
        step += 1
    return Conversation(session_id, opening, tuple(bodies))


def _body(system: list[Any], tools: list[Any], messages: list[Any], session_id: str) -> bytes:
    return orjson.dumps(
        {
            "model": "claude-sonnet-4-5",
            "messages": messages,
            "system": system,
            "tools": tools,
            "metadata": {"user_id": orjson.dumps({"session_id": session_id}).decode()},
            "max_tokens": 32000,
            "stream": False,
        }
    )


def _step(rng: random.Random, number: int, *, short: bool = False) -> list[dict[str, Any]]:
    call = f"toolu_{number:08d}{rng.getrandbits(32):08x}"
    command = f"cat src/module_{number}.py | head -{rng.randint(10, 90)}"
    output = _prose(rng, 200 if short else MESSAGE_BYTES)
    return [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": call, "name": "Bash", "input": {"command": command}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}],
        },
    ]


def _tool(name: str, rng: random.Random) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    return {"name": name, "description": _prose(rng, 300), "input_schema": schema}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _prose(rng: random.Random, size: int) -> str:
    words: list[str] = []
    length = 0
    while length < size:
        word = rng.choice(WORDS)
        words.append(word)
        length += len(word) + 1
    return " ".join(words)
