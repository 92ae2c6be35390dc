"""Agents beside and within each other, over real sockets: whose each request is."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord
from support.capture_client import post, tunnelled
from support.capture_messages import AGENT_HEADERS, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, REPOSITORY, RUN, RunningProxy, running_proxy
from support.capture_upstream import answering, api_server, raw_server, read_request

OTHER_RUN = "run-00000000bbbb"
SDK = ("x-api-key: k", "content-type: application/json", "User-Agent: Anthropic/Python 0.70.0")


def in_session(session: str) -> tuple[str, ...]:
    """Claude Code's headers."""
    name = "X-Claude-Code-Session-Id"
    return (*(line for line in AGENT_HEADERS if not line.startswith(name)), f"{name}: {session}")


def another_run(proxy: RunningProxy, **changes: Any) -> str:
    """The credentials of a second run, in the same directory unless said otherwise."""
    run = json.loads((proxy.paths.runs_dir / f"{RUN}.json").read_text())
    made = {**run, "run_id": OTHER_RUN, "token": "other-token", **changes}
    (proxy.paths.runs_dir / f"{OTHER_RUN}.json").write_text(json.dumps(made))
    return f"{OTHER_RUN}:other-token"


async def said(proxy: RunningProxy, credentials: str, body: bytes, headers: tuple[str, ...]) -> None:
    async with tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=credentials) as connection:
        assert (await connection.ask(post(body, *headers))).status == 200


def of(chat: SpanRecord, *names: str) -> tuple[object, ...]:
    return tuple(chat.attributes.get(name) for name in names)


async def test_two_runs_in_one_directory(tmp_path: Path) -> None:
    """Two agents without a session of their own, the same program, words and directory: two conversations, each in its
    own run, and both in the repository."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        other = another_run(proxy)
        for turn in (("hello",), ("hello", "hello", "and now?")):
            for credentials in (CREDENTIALS, other):
                await said(proxy, credentials, request_body(*turn), SDK)
        chats = await proxy.collector.chats(4)

    runs: dict[object, set[object]] = {}
    for chat in chats:
        runs.setdefault(chat.attributes[lore.RUN_ID], set()).add(chat.attributes[lore.CONVERSATION])
        assert chat.attributes[lore.REPOSITORY] == REPOSITORY
    assert set(runs) == {RUN, OTHER_RUN}
    assert [len(conversations) for conversations in runs.values()] == [1, 1]
    assert runs[RUN].isdisjoint(runs[OTHER_RUN])


async def test_an_agent_within_an_agent(tmp_path: Path) -> None:
    """Started by `spanlore run` it is a run of its own; from the other's shell it is in the other's run, in a session
    of its own; a script with an SDK there names none, and is a conversation of its own."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        inner = another_run(proxy, harness="unknown")
        await said(proxy, CREDENTIALS, request_body("the outer one"), in_session("s-outer"))
        await said(proxy, inner, request_body("a run of its own"), in_session("s-inner"))
        await said(proxy, CREDENTIALS, request_body("from the shell"), in_session("s-shell"))
        await said(proxy, CREDENTIALS, request_body("a script"), SDK)
        chats = await proxy.collector.chats(4)

    found = {of(chat, lore.RUN_ID, gen_ai.CONVERSATION_ID) for chat in chats}
    assert found == {
        (RUN, "s-outer"),
        (OTHER_RUN, "s-inner"),
        (RUN, "s-shell"),
        (RUN, None),
    }
    assert len({chat.attributes[lore.CONVERSATION] for chat in chats}) == 4


async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers one request."""
    await read_request(reader)
    body = message()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def has_ipv6() -> bool:
    """Whether this machine has ::1, and calls it localhost."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return bool(socket.getaddrinfo("localhost", 1, socket.AF_INET6))
    except OSError:
        return False


@pytest.mark.parametrize("name", ["localhost", "[::1]"])
async def test_a_model_that_listens_on_ipv6_only(tmp_path: Path, name: str) -> None:
    """A local model that `localhost` leads to by ::1 alone is reached as an upstream, by name and by number."""
    if not has_ipv6():
        pytest.skip("no IPv6 on this machine")
    async with (
        raw_server(serve_one, "::1") as server,
        running_proxy(tmp_path, upstreams={HOST: f"http://{name}:{server.port}"}) as proxy,
    ):
        await said(proxy, CREDENTIALS, request_body(), AGENT_HEADERS)
        (chat,) = await proxy.collector.chats(1)

    assert chat.attributes[lore.COMPLETE] is True
