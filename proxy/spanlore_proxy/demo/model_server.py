"""A small real server that speaks the APIs of the providers (Anthropic Messages, OpenAI Chat and Responses, the latter
over a WebSocket as well, Gemini) from a script.

It listens on loopback, streams in realistic chunks, keeps a prompt cache that it accounts for (Anthropic's), and keeps
the exact bytes and headers of everything it received. Agents' side calls get small answers (`side_answers`).
The script is a function of the request; it is called in the server's thread, one request at a time.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from types import TracebackType
from typing import Any, Self

import orjson
from aiohttp import web

from spanlore_proxy.demo.held_history import HeldHistory
from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.prompt_cache import BYTES_PER_TOKEN, CacheUsage, PromptCache
from spanlore_proxy.demo.replies import Failure, Raw, Reply, ReplyBody, Say, failure_json, settle
from spanlore_proxy.demo.side_answers import side_answer
from spanlore_proxy.demo.speeches import ANTHROPIC, RESPONSES, Speech, speech_of

MAX_BODY_BYTES = 256 * 1024**2

UNKNOWN_RESPONSE = Failure(400, "previous_response_not_found", "Previous response not found.")

type Answer = Reply | Failure | Raw
type Script = Callable[[ReceivedRequest], Answer | None]
"""The answer to an inference; None gives a short text."""


class ModelServer:
    """One scripted server, in a thread of its own; use it as a context manager."""

    def __init__(self, script: Script, *, port: int = 0, delay_s: float = 0.0) -> None:
        """`port` 0 takes a free one; `delay_s` passes before every answer to an inference."""
        self._script = script
        self._port = port
        self._delay_s = delay_s
        self._cache = PromptCache()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="model-server", daemon=True)
        self._runner: web.AppRunner | None = None
        self.requests: list[ReceivedRequest] = []
        """Everything received, in order of arrival."""
        self.usages: dict[str, CacheUsage] = {}
        """Usage by request id."""
        self.deserted: list[str] = []
        """Request ids whose client went away before the answer was complete."""

    def __enter__(self) -> Self:
        self._thread.start()
        self._wait(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        """http://127.0.0.1:PORT, to be given as an upstream or a base URL."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def inferences(self) -> tuple[ReceivedRequest, ...]:
        """The inferences received, side calls left out."""
        return tuple(request for request in self.requests if speech_of(request) is not None)

    def main_loop(self, session_id: str = "") -> tuple[ReceivedRequest, ...]:
        """Inferences that carry tools: the agent at work, of one session if one is named."""
        return tuple(
            request
            for request in self.inferences
            if request.has_tools and (not session_id or request.session_id == session_id)
        )

    def close(self) -> None:
        """Stops listening and breaks open connections off."""
        if self._loop.is_closed():
            return
        self._wait(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    async def _start(self) -> None:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_route("*", "/{tail:.*}", self._serve)
        # The log must hold the bytes as they came, so nothing is decompressed on the way in.
        self._runner = web.AppRunner(app, access_log=None, auto_decompress=False, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def _stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if RESPONSES.path.search(request.path) and web.WebSocketResponse().can_prepare(request).ok:
            return await self._talk(request)
        received = self._received(request, await request.read(), request.method)
        self.requests.append(received)
        speech = speech_of(received)
        if speech is not None:
            await asyncio.sleep(self._delay_s)
            return await self._infer(request, received, speech)
        return _respond(received, side_answer(received))

    @staticmethod
    def _received(request: web.Request, body: bytes, method: str, frame: bytes = b"") -> ReceivedRequest:
        return ReceivedRequest(
            method=method,
            path=request.raw_path,
            headers=tuple((name.lower(), value) for name, value in request.headers.items()),
            body=body,
            time_ns=time.time_ns(),
            request_id=f"req_01{secrets.token_hex(11)}",
            frame=frame,
        )

    async def _talk(self, request: web.Request) -> web.StreamResponse:
        """The Responses API over a WebSocket, compressed if the client likes."""
        socket, history = web.WebSocketResponse(max_msg_size=MAX_BODY_BYTES), HeldHistory()
        await socket.prepare(request)
        async for message in socket:
            document = orjson.loads(message.data)
            if document.get("type") != "response.create":
                continue
            try:
                whole = history.whole(document)
            except KeyError:
                await socket.send_str(_socket_error(UNKNOWN_RESPONSE).decode())
                continue
            received = self._received(request, orjson.dumps(whole), "POST", message.data.encode())
            for event in await self._answer_on_socket(received, whole):
                await socket.send_str(event.decode())
                if event.startswith(b'{"type":"response.completed"'):
                    history.answered(whole, orjson.loads(event)["response"])
        return socket

    async def _answer_on_socket(self, received: ReceivedRequest, document: dict[str, Any]) -> list[bytes]:
        """The messages that answer one."""
        self.requests.append(received)
        await asyncio.sleep(self._delay_s)
        is_prewarm = document.get("generate") is False
        answer = Reply(()) if is_prewarm else self._script(received) or Reply((Say("Done."),))
        if not isinstance(answer, Reply):
            return [_socket_error(answer if isinstance(answer, Failure) else Failure())]
        usage = self._account(document, received, RESPONSES)
        self.usages[received.request_id] = usage
        body = settle(answer, RESPONSES.model(received), usage)
        return [event.partition(b"data: ")[2].strip() for event in RESPONSES.events(body, document)]

    async def _infer(self, request: web.Request, received: ReceivedRequest, speech: Speech) -> web.StreamResponse:
        document = received.document
        if document is None or not isinstance(document.get(speech.history_key), list):
            wanted = f"{speech.history_key}: Field required"
            message = wanted if document is not None else "The request body is not valid JSON"
            return _respond(received, Failure(400, "invalid_request_error", message))
        answer = self._script(received) or Reply((Say("Done."),))
        if not isinstance(answer, Reply):
            return _respond(received, answer)
        usage = self._account(document, received, speech)
        self.usages[received.request_id] = usage
        body = settle(answer, speech.model(received), usage)
        if not speech.is_streamed(received):
            return _respond(received, Raw(speech.as_json(body, document)), answer.is_compressed)
        return await self._stream(request, received, body, speech.events(body, document))

    def _account(self, document: dict[str, Any], received: ReceivedRequest, speech: Speech) -> CacheUsage:
        if speech is ANTHROPIC:
            return self._cache.account(document)
        return CacheUsage(len(received.decoded) // BYTES_PER_TOKEN, 0, 0)

    async def _stream(
        self, request: web.Request, received: ReceivedRequest, body: ReplyBody, events: Iterable[bytes]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=_headers(received, "text/event-stream; charset=utf-8"))
        response.headers["cache-control"] = "no-cache"
        if body.reply.is_compressed:
            response.enable_compression(web.ContentCoding.gzip)
        try:
            await response.prepare(request)
            for chunk in _chunks(body, events):
                if body.reply.event_delay_s:
                    await asyncio.sleep(body.reply.event_delay_s)
                await response.write(chunk)
            if body.reply.cut_after_events is None:
                await response.write_eof()
            elif request.transport is not None:
                await asyncio.sleep(0.05)  # let what was written go out before the connection is broken off
                request.transport.abort()
        except (ConnectionError, asyncio.CancelledError):
            self.deserted.append(received.request_id)
        return response


def _chunks(body: ReplyBody, events: Iterable[bytes]) -> Iterable[bytes]:
    written = list(events)[: body.reply.cut_after_events]
    size = body.reply.chunk_bytes
    if size is None:
        return written
    stream = b"".join(written)
    return (stream[start : start + size] for start in range(0, len(stream), size))


def _respond(received: ReceivedRequest, answer: Answer, is_compressed: bool = False) -> web.Response:
    match answer:
        case Failure():
            body, status, headers = failure_json(answer, received.request_id), answer.status, answer.headers
        case Raw():
            body, status, headers = answer.body, answer.status, answer.headers
        case Reply():
            raise TypeError("a reply with content needs a settled body")
    response = web.Response(body=body, status=status, headers=_headers(received, "application/json"))
    response.headers.update(headers)
    if is_compressed:
        response.enable_compression(web.ContentCoding.gzip)
    return response


def _socket_error(failure: Failure) -> bytes:
    error = {"type": failure.type, "message": failure.message}
    return orjson.dumps({"type": "error", "status": failure.status, "error": error})


def _headers(received: ReceivedRequest, content_type: str) -> dict[str, str]:
    return {
        "content-type": content_type,
        "request-id": received.request_id,
        "anthropic-organization-id": "00000000-0000-0000-0000-000000000000",
    }
