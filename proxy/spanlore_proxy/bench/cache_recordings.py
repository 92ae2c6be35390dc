"""Recorded sessions as the requests they were, for the cache benchmark.

Agents' own session files keep what was said and not the system prompt; their histories are sent here behind a made-up
one, as a Messages client sends them and as a Chat Completions client does. Recorded API traffic (cassettes) is sent as
it was recorded. Both are real in what matters to a cache: how histories grow, how long results are, what fails.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from spanlore.genai.inference import Dialect
from spanlore.memory.memory import Memory, Trigger
from spanlore.signature.failure import failure_signature
from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from spanlore_proxy.bench.cache_sessions import make_memory, prose
from spanlore_proxy.importers.cassettes import MalformedRecordingError, read_exchanges, recordings_below
from spanlore_proxy.importers.replay import histories
from spanlore_proxy.wire.dialect import Kind, recognise_any

MIN_REQUESTS: Final = 30
"""A shorter transcript is no session that a cache matters to."""
MAX_REQUESTS: Final = 200
MAX_BYTES: Final = 600_000
"""Of a session's newest request."""
MAX_FAILURES: Final = 6
"""Of a session, to which a memory has an answer: more are not hinted."""
_DIALECTS: Final = frozenset({Dialect.ANTHROPIC_MESSAGES, Dialect.OPENAI_CHAT})


@dataclass(frozen=True, slots=True)
class Recorded:
    """One session."""

    name: str
    dialect: Dialect
    bodies: tuple[bytes, ...]
    memories: tuple[Memory, ...] = ()
    """Those that answer its own failures."""


def transcripts_below(folder: Path) -> Iterator[Recorded]:
    """Each long session file below the folder, as both kinds of client would send it."""
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".jsonl", ".json") and path.is_file()):
        try:
            transcript = read_transcript(path.read_bytes())
        except (UnknownFormatError, OSError):
            continue
        requests: list[list[dict[str, Any]]] = []
        for messages in histories(transcript):
            if len(requests) >= MAX_REQUESTS or len(orjson.dumps(messages)) > MAX_BYTES:
                break
            if messages:
                requests.append(messages)
        if len(requests) >= MIN_REQUESTS:
            known = tuple(_answers(requests[-1]))
            yield Recorded(path.name, Dialect.ANTHROPIC_MESSAGES, tuple(map(_anthropic, requests)), known)
            yield Recorded(path.name, Dialect.OPENAI_CHAT, tuple(map(_chat, requests)), known)


def cassettes_below(folder: Path) -> Iterator[Recorded]:
    """Each recording of two calls or more of one of the two APIs."""
    for path in recordings_below(folder):
        try:
            exchanges = read_exchanges(path)
        except (MalformedRecordingError, OSError):
            continue
        bodies: dict[Dialect, list[bytes]] = {}
        for exchange in exchanges:
            endpoint = recognise_any(exchange.method, exchange.host, exchange.path)
            is_call = endpoint is not None and endpoint.kind is Kind.INFERENCE and endpoint.dialect in _DIALECTS
            if endpoint is not None and is_call and _is_request(exchange.request_body):
                bodies.setdefault(endpoint.dialect, []).append(exchange.request_body)
        for dialect, sent in bodies.items():
            if len(sent) > 1:
                yield Recorded(path.name, dialect, tuple(sent))


def _is_request(body: bytes) -> bool:
    try:
        document = orjson.loads(body)
    except ValueError:
        return False
    return isinstance(document, dict) and isinstance(document.get("messages"), list)


def _answers(messages: Iterable[dict[str, Any]]) -> Iterator[Memory]:
    """A memory for each of the first failures that are told by the flag."""
    commands: dict[str, str] = {}
    seen: set[str] = set()
    for block in (block for message in messages for block in message["content"]):
        if block["type"] == "tool_use":
            commands[block["id"]] = str(block["input"].get("command", "")) if isinstance(block["input"], dict) else ""
        command = commands.get(block.get("tool_use_id", ""), "")
        if not block.get("is_error") or not command or not isinstance(block["content"], str):
            continue
        signature = failure_signature("Bash", command, block["content"], 1)
        if signature.hash not in seen and len(seen) < MAX_FAILURES:
            seen.add(signature.hash)
            trigger = Trigger((signature.hash,), signature.program, signature.error_class)
            yield make_memory(f"{signature.program}-{len(seen)}", f"make {signature.program}-{len(seen)}", trigger)


def _anthropic(messages: list[dict[str, Any]]) -> bytes:
    """Breakpoints on the last block of the system prompt and of the newest message, as Claude Code sets them."""
    *before, last = messages
    content = last["content"] or [{"type": "text", "text": "go on"}]
    marked = [*content[:-1], {**content[-1], "cache_control": {"type": "ephemeral"}}]
    system = [
        {"type": "text", "text": prose(random.Random(0), 2_000)},
        {"type": "text", "text": prose(random.Random(1), 6_000), "cache_control": {"type": "ephemeral"}},
    ]
    tools = [{"name": "Bash", "description": prose(random.Random(2), 3_000), "input_schema": {"type": "object"}}]
    sent = [*before, {**last, "content": marked}]
    return orjson.dumps({"model": "claude-x", "messages": sent, "system": system, "tools": tools, "stream": True})


def _chat(messages: list[dict[str, Any]]) -> bytes:
    first = {"role": "system", "content": prose(random.Random(0), 8_000)}
    tools = [{"type": "function", "function": {"name": "Bash", "description": prose(random.Random(2), 3_000)}}]
    sent = [first, *(one for message in messages for one in _as_chat(message))]
    return orjson.dumps({"model": "gpt-x", "messages": sent, "tools": tools, "stream": True})


def _as_chat(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    texts = "\n\n".join(block["text"] for block in message["content"] if block["type"] == "text")
    calls = [_call(block) for block in message["content"] if block["type"] == "tool_use"]
    for block in message["content"]:
        if block["type"] == "tool_result":
            yield {"role": "tool", "tool_call_id": block["tool_use_id"], "content": _text(block["content"])}
    if calls:
        yield {"role": "assistant", "content": texts or None, "tool_calls": calls}
    elif texts:
        yield {"role": message["role"], "content": texts}


def _call(block: dict[str, Any]) -> dict[str, Any]:
    arguments = orjson.dumps(block["input"]).decode()
    return {"id": block["id"], "type": "function", "function": {"name": block["name"], "arguments": arguments}}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else orjson.dumps(content).decode()
