"""The Responses API over a WebSocket, as Codex and its server speak it: messages, and a small real server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

SESSION = "019a0000-0000-7000-8000-00000000000a"
THREAD = "019a0000-0000-7000-8000-00000000000b"
UPGRADE_HEADERS = {
    "user-agent": "codex_exec/0.171.0 (Linux; x86_64)",
    "openai-beta": "responses_websockets=2026-02-06",
    "authorization": "Bearer sk-proj-" + "A" * 40,
    "session-id": SESSION,
    "thread-id": THREAD,
}
MODEL = "gpt-5.1-codex"
TOOLS = [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}, "strict": False}]


def text_item(role: str, text: str) -> dict[str, Any]:
    """An input item of the client's."""
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def preamble(cwd: str = "/w/repository") -> list[dict[str, Any]]:
    """What Codex puts before the first prompt."""
    return [
        text_item("developer", "You are Codex, a coding agent. " + "Base instructions. " * 50),
        text_item("developer", "<permissions instructions>all</permissions instructions>"),
        text_item("user", f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>"),
    ]


def create(items: list[dict[str, Any]], previous: str | None = None, kind: str = "turn", **more: Any) -> dict[str, Any]:
    """A `response.create` message."""
    turn = {"session_id": SESSION, "thread_id": THREAD, "turn_id": "t", "request_kind": kind}
    document: dict[str, Any] = {"type": "response.create", "model": MODEL}
    if previous is not None:
        document["previous_response_id"] = previous
    return {
        **document,
        "input": items,
        "tools": TOOLS,
        "store": False,
        "stream": True,
        "prompt_cache_key": SESSION,
        "client_metadata": {
            "session_id": SESSION,
            "thread_id": THREAD,
            "x-codex-turn-metadata": json.dumps(turn),
        },
        **more,
    }


def prewarm() -> dict[str, Any]:
    """The first message of a connection."""
    return create([], kind="prewarm", generate=False)


def output(item: int, call_id: str, text: str) -> dict[str, Any]:
    """What a tool printed."""
    said = f"Chunk ID: {item}\nWall time: 0.1 seconds\nProcess exited with code {item}\nOutput:\n{text}"
    return {"type": "function_call_output", "call_id": call_id, "output": said}


def call_item(call_id: str, command: str) -> dict[str, Any]:
    """The model asks for a tool."""
    arguments = json.dumps({"cmd": command})
    return {
        "type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": "exec_command",
        "arguments": arguments, "status": "completed",
    }  # fmt: skip


def said_item(text: str) -> dict[str, Any]:
    """The model says something."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_x", "role": "assistant", "status": "completed", "content": content}


def events(
    response_id: str, items: list[dict[str, Any]], *, tokens: tuple[int, int] = (100, 10), is_listed: bool = True
) -> list[dict[str, Any]]:
    """The events of one answer. `is_listed`: `response.completed` repeats the items."""
    head = {"id": response_id, "object": "response", "model": MODEL, "output": []}
    usage = {
        "input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens),
        "input_tokens_details": {"cached_tokens": tokens[0] // 2},
        "output_tokens_details": {"reasoning_tokens": 1},
    }  # fmt: skip
    out: list[dict[str, Any]] = [{"type": "response.created", "response": {**head, "status": "in_progress"}}]
    for index, item in enumerate(items):
        out.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}})
        if item["type"] == "message":
            delta = {"type": "response.output_text.delta", "output_index": index, "content_index": 0}
            out.append({**delta, "delta": item["content"][0]["text"]})
        out.append({"type": "response.output_item.done", "output_index": index, "item": item})
    done = {**head, "status": "completed", "output": items if is_listed else [], "usage": usage}
    return [*out, {"type": "response.completed", "response": done}]


type Answer = Callable[[web.WebSocketResponse, dict[str, Any]], Awaitable[None]]


@dataclass
class SocketServer:
    """What runs, and what it got."""

    port: int = 0
    upgrades: list[dict[str, str]] = field(default_factory=list)
    """Request headers."""
    received: list[dict[str, Any]] = field(default_factory=list)
    binary: list[bytes] = field(default_factory=list)
    ended: list[int | None] = field(default_factory=list)
    """Close code of each connection that is over."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def socket_server(
    answer: Answer, *, is_compressed: bool = True, refusal: int | None = None
) -> AsyncIterator[SocketServer]:
    """A server that gives each `response.create` to `answer`; with `refusal` it answers every request with that
    status instead."""
    server = SocketServer()

    async def handle(request: web.Request) -> web.StreamResponse:
        server.upgrades.append({key.lower(): value for key, value in request.headers.items()})
        if refusal is not None:
            return web.Response(status=refusal, text="no")
        socket = web.WebSocketResponse(compress=is_compressed, max_msg_size=2**26, autoping=True)
        await socket.prepare(request)
        try:
            async for message in socket:
                if isinstance(message.data, str):
                    document = json.loads(message.data)
                    server.received.append(document)
                    await answer(socket, document)
                else:
                    server.binary.append(message.data)
                    await socket.send_bytes(message.data)
        except ConnectionError:
            pass  # the client was faster
        finally:
            server.ended.append(socket.close_code)
        return socket

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    assert site._server is not None
    server.port = site._server.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # of asyncio.Server
    try:
        yield server
    finally:
        await runner.cleanup()


def playing(*answers: list[dict[str, Any]]) -> Answer:
    """One answer after the other, whatever is asked; the last one again when they have run out."""
    waiting = list(answers)

    async def answer(socket: web.WebSocketResponse, _: dict[str, Any]) -> None:
        for event in waiting.pop(0) if len(waiting) > 1 else waiting[0]:
            await socket.send_str(json.dumps(event))
            await asyncio.sleep(0)

    return answer
