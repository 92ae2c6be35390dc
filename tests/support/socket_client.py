"""A client of the Responses API over a WebSocket, through the proxy as Codex goes through it."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionType
from wsproto.events import TextMessage

from spanlore.memory.memory import Kind, Memory, Source, Status, Trigger, memory_id, memory_to_json
from spanlore.semconv import gen_ai
from spanlore.spans.record import SpanRecord
from support.capture_client import Connection
from support.capture_proxy import CREDENTIALS, REPOSITORY, RunningProxy, state_in
from support.responses_socket import (
    UPGRADE_HEADERS,
    call_item,
    create,
    events,
    output,
    preamble,
    prewarm,
    said_item,
    text_item,
)

HOST = "api.openai.com"
PATH = "/v1/responses"
URL = f"wss://{HOST}{PATH}"


def give_memory(folder: Path, trigger: Trigger | None = None) -> Memory:
    """One memory of the run's repository, in the snapshot the proxy starts with; with `trigger` it answers that
    failure."""
    memory = Memory(
        id=memory_id(REPOSITORY, Kind.USAGE, "pytest", "form", "make test"),
        kind=Kind.USAGE,
        source=Source.FAILURE_DELTA,
        status=Status.ACTIVE,
        scope=REPOSITORY,
        subject="pytest",
        slot="form",
        value="make test",
        text="`pytest` fails here; `make test` works.",
        session_count=2,
        alpha=9,
        created_at_ns=1,
        updated_at_ns=time.time_ns(),
        trigger=trigger or Trigger(),
    )
    state_in(folder).snapshot_file.write_text(json.dumps({"memories": [memory_to_json(memory)]}))
    return memory


@asynccontextmanager
async def codex(proxy: RunningProxy, *, is_compressed: bool = True) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A connection as the agent makes it: CONNECT with the run's credentials, TLS, upgrade."""
    context = ssl.create_default_context(cafile=str(proxy.ca))
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(
            URL,
            proxy=f"http://{CREDENTIALS}@127.0.0.1:{proxy.port}",
            ssl=context,
            headers=UPGRADE_HEADERS,
            compress=15 if is_compressed else 0,
            max_msg_size=2**26,
        ) as socket,
    ):
        yield socket


async def ask(socket: aiohttp.ClientWebSocketResponse, message: dict[str, Any]) -> list[dict[str, Any]]:
    """Sends a request and reads its answer to the end."""
    await socket.send_str(orjson.dumps(message).decode())  # spelled as Codex does
    got: list[dict[str, Any]] = []
    while not got or got[-1]["type"] not in ("response.completed", "response.failed", "response.incomplete", "error"):
        got.append(json.loads(await asyncio.wait_for(socket.receive_str(), 60)))
    return got


async def raw(connection: Connection) -> bytes:
    """Asks for the upgrade by hand; the answer's head."""
    lines = [f"GET {PATH} HTTP/1.1", f"Host: {HOST}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    connection.writer.write("\r\n".join([*lines, "", ""]).encode())
    return await connection.head()


def text(message: dict[str, Any], connection: Frames | None = None) -> bytes:
    """The message as one masked frame."""
    return (connection or Frames(ConnectionType.CLIENT)).send(TextMessage(data=json.dumps(message)))


SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"

ANSWERS = (
    events("resp_0", [], tokens=(0, 0)),
    events("resp_1", [said_item("I will run them."), call_item("call_1", "pytest")], tokens=(1000, 20)),
    events("resp_2", [said_item("They fail.")], tokens=(1100, 30)),
    events("resp_3", [said_item("Fixed now.")], tokens=(1200, 40)),
)


async def session(socket: aiohttp.ClientWebSocketResponse) -> list[list[dict[str, Any]]]:
    """A recorded shape: prewarm, the whole input, a tool's output alone, a new prompt alone."""
    return [
        await ask(socket, prewarm()),
        await ask(socket, create([*preamble(), text_item("user", "Run the tests.")], "resp_0")),
        await ask(socket, create([output(3, "call_1", "1 failed")], "resp_1")),
        await ask(socket, create([text_item("user", "Fix them.")], "resp_2")),
    ]


def by_response(spans: list[SpanRecord]) -> dict[str, SpanRecord]:
    return {str(span.attributes[gen_ai.RESPONSE_ID]): span for span in spans}
