"""Clients of every dialect through the real proxy: what arrives at the provider, and what is told about it."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from spanlore.memory.memory import Memory, memory_to_json
from spanlore.semconv import lore
from spanlore.spans.record import SpanRecord
from support.agent_talks import TALKS, AnyTalk, texts_of, turns_of
from support.capture_client import post, tunnelled
from support.capture_proxy import CREDENTIALS, REPOSITORY, Collector, running_proxy, state_in, until
from support.capture_upstream import answering, api_server
from support.injecting import failure_trigger, make_memory

JSON = "content-type: application/json"
ASKED = {
    "anthropic": (
        "api.anthropic.com",
        "/v1/messages?beta=true",
        (JSON, "x-api-key: k", "user-agent: claude-cli/2.1.332 (external, cli)", "x-claude-code-session-id: s-1",
         "x-claude-code-request-class: main"),
    ),
    "chat": (
        "api.openai.com",
        "/v1/chat/completions",
        (JSON, "authorization: Bearer k", "user-agent: QwenCode/0.24.4 (linux; x64)"),
    ),
    "responses": (
        "api.openai.com",
        "/v1/responses",
        (JSON, "authorization: Bearer k", "user-agent: codex_exec/0.171.0", "session-id: s-1", "thread-id: s-1"),
    ),
    "gemini": (
        "generativelanguage.googleapis.com",
        "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        (JSON, "x-goog-api-key: k", "user-agent: GeminiCLI/0.61.0/gemini-x (linux; x64)"),
    ),
    "code_assist": (
        "cloudcode-pa.googleapis.com",
        "/v1internal:streamGenerateContent?alt=sse",
        (JSON, "authorization: Bearer k", "user-agent: GeminiCLI/0.61.0/gemini-x (linux; x64)"),
    ),
}  # fmt: skip
"""Talk → host, path and header lines of its agent."""


def give(folder: Path) -> Memory:
    """One memory that answers the talk's failure, in the snapshot the proxy starts with."""
    memory = make_memory("pytest", scope=REPOSITORY, trigger=failure_trigger())
    state_in(folder).snapshot_file.write_text(json.dumps({"memories": [memory_to_json(memory)]}))
    return memory


async def play(
    folder: Path, name: str, bodies: list[bytes], *headers: list[str], is_encoded: bool = False
) -> tuple[list[bytes], list[SpanRecord]]:
    """The bodies sent through two proxies, the second from the third on: (bodies that arrived, spans)."""
    host, path, lines = ASKED[name]
    collector = Collector()
    settings: dict[str, Any] = {"injection": {"withhold_share": 0}}
    asked = list(zip(bodies, headers or [[]] * len(bodies), strict=True))
    async with api_server(answering(b"{}")) as api:
        for half in itertools.batched(asked, 2, strict=False):
            async with (
                running_proxy(
                    folder, collector=collector, grace_s=0.05, upstreams={host: api.url}, **settings
                ) as proxy,
                tunnelled(proxy.port, f"{host}:443", proxy.ca, credentials=CREDENTIALS) as connection,
            ):
                for body, more in half:
                    sent = gzip.compress(body) if is_encoded else body
                    answer = await connection.ask(post(sent, *lines, *more, target=path, host=host))
                    assert answer.status == 200
                count = len(api.received)
                await until(lambda: len(inferences(collector)) == count)  # noqa: B023  # waits within the loop
    arrived = [gzip.decompress(one.body) if is_encoded else one.body for one in api.received]
    return arrived, inferences(collector)


def inferences(collector: Collector) -> list[SpanRecord]:
    """The model calls that were told, in order."""
    found = [span for span in collector.spans if span.name.startswith(("chat", "generate_content"))]
    return sorted(found, key=lambda span: span.start_time_ns)


def tagged(body: bytes, tag: str) -> list[str]:
    """Texts of a body that hold a tag of ours."""
    return [text for text in texts_of(turns_of(body)) if f"<{tag}" in text]


def played(talk: AnyTalk) -> list[bytes]:
    """The requests of a small session: opening, a failure, a success, the next question."""
    bodies = [talk.ask("fix the tests"), talk.fail(), talk.run()]
    talk.say("done")
    return [*bodies, talk.ask("thanks, and now?")]


@pytest.mark.parametrize("name", TALKS)
async def test_a_session_gets_its_block_and_its_hint(tmp_path: Path, name: str) -> None:
    """Through a restart of the proxy: the block in every request, the hint from the failure on, each once; the provider
    sees turns that only grow at the end, and every span says what was inserted."""
    memory = give(tmp_path)
    bodies = played(TALKS[name]())
    arrived, spans = await play(tmp_path, name, bodies)

    assert [len(tagged(body, "spanlore-memory")) for body in arrived] == [1, 1, 1, 1]
    assert [len(tagged(body, "spanlore-hint")) for body in arrived] == [0, 1, 1, 1]
    for before, after in itertools.pairwise(arrived):
        turns = turns_of(before)
        assert turns_of(after)[: len(turns)] == turns
    assert [span.attributes[lore.INJECTED_MEMORY_IDS] for span in spans] == [(memory.id,)] * 4
    added = [span.attributes[lore.INJECTED_BYTES] for span in spans]
    assert added == [len(after) - len(before) for before, after in zip(bodies, arrived, strict=True)]


@pytest.mark.parametrize("name", TALKS)
async def test_compressed_bodies_are_rewritten_in_their_coding_or_not_at_all(tmp_path: Path, name: str) -> None:
    """With our header, which does not go on, byte for byte as they were sent; without it compressed, with the block."""
    give(tmp_path)
    body = TALKS[name]().ask("fix the tests")
    headers = (["x-spanlore-bypass: 1", "content-encoding: gzip"], ["content-encoding: gzip"])
    (bypassed, rewritten), spans = await play(tmp_path, name, [body, body], *headers, is_encoded=True)

    assert bypassed == body
    assert len(tagged(rewritten, "spanlore-memory")) == 1
    assert [span.attributes.get(lore.INJECTION_SKIPPED) for span in spans] == ["bypass", None]


@pytest.mark.parametrize("is_lost", [False, True])
async def test_what_a_restart_loses_raises_the_alarm(tmp_path: Path, is_lost: bool) -> None:
    """The proxy ends, its ledger loses the conversation's row, another proxy begins: what left before is known from its
    own record, so the missing block is counted. Without the loss nothing is."""
    give(tmp_path)
    host, path, lines = ASKED["anthropic"]
    bodies = played(TALKS["anthropic"]())
    async with api_server(answering(b"{}")) as api:
        for body in bodies[:2]:
            async with (
                running_proxy(tmp_path, upstreams={host: api.url}, injection={"withhold_share": 0}) as proxy,
                tunnelled(proxy.port, f"{host}:443", proxy.ca, credentials=CREDENTIALS) as connection,
            ):
                await connection.ask(post(body, *lines, target=path, host=host))
                await proxy.collector.chats(1)
            with contextlib.closing(sqlite3.connect(proxy.paths.proxy_db)) as database, database:
                database.execute("DELETE FROM placements WHERE ?", (is_lost,))
    counted = proxy.service.counts.snapshot()

    assert [len(tagged(one.body, "spanlore-memory")) for one in api.received] == [1, 0 if is_lost else 1]
    assert counted.get("prefix_changed") == ({"upstream_system": 1} if is_lost else None)
