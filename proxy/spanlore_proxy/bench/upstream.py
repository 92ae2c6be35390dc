"""The benchmark's LLM API: a TLS server in a process of its own that answers at once.

`POST /v1/messages` with header `x-bench: json` gives a small message; `x-bench: sse COUNT INTERVAL_MS` streams COUNT
events, each with the sender's clock in nanoseconds, so the receiver can tell how long a chunk was under way (both run
on one machine and one clock). `GET /v1/responses` is a WebSocket; a message's `metadata.bench` says COUNT INTERVAL_MS.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
import time
from pathlib import Path

import orjson
from aiohttp import web

MESSAGE = orjson.dumps(
    {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "ok " * 300}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 10, "output_tokens": 300, "cache_read_input_tokens": 0},
    }
)
MAX_BODY_BYTES = 64 * 1024**2


async def messages(request: web.Request) -> web.StreamResponse:
    """One answer, as the `x-bench` header asks."""
    await request.read()
    kind, *numbers = request.headers.get("x-bench", "json").split()
    if kind == "json":
        return web.Response(body=MESSAGE, content_type="application/json")
    count, interval_ms = int(numbers[0]), float(numbers[1])
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    for _ in range(count):
        await response.write(_event(time.monotonic_ns()))
        if interval_ms:
            await asyncio.sleep(interval_ms / 1000)
    await response.write_eof()
    return response


async def responses(request: web.Request) -> web.StreamResponse:
    """The Responses API over a WebSocket."""
    socket = web.WebSocketResponse(max_msg_size=MAX_BODY_BYTES)
    await socket.prepare(request)
    number = 0
    async for message in socket:
        number += 1
        count, interval_ms = orjson.loads(message.data)["metadata"]["bench"].split()
        for _ in range(int(count)):
            delta = {"type": "response.output_text.delta", "output_index": 0, "delta": f"{time.monotonic_ns()} "}
            await socket.send_str(orjson.dumps(delta).decode())
            if float(interval_ms):
                await asyncio.sleep(float(interval_ms) / 1000)
        await socket.send_str(orjson.dumps(_completed(f"resp_{number}")).decode())
    return socket


def _completed(response_id: str) -> dict[str, object]:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}
    usage = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    response = {"id": response_id, "status": "completed", "output": [item], "usage": usage}
    return {"type": "response.completed", "response": response}


def _event(sent_ns: int) -> bytes:
    delta = {"type": "text_delta", "text": f"{sent_ns} "}
    return (
        b"event: content_block_delta\ndata: "
        + orjson.dumps({"type": "content_block_delta", "index": 0, "delta": delta})
        + b"\n\n"
    )


def main() -> None:
    """`python -m spanlore_proxy.bench.upstream --port N --cert FILE`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--cert", type=Path, required=True)
    arguments = parser.parse_args()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(arguments.cert)
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_post("/v1/messages", messages)
    app.router.add_get("/v1/responses", responses)
    web.run_app(app, host="127.0.0.1", port=arguments.port, ssl_context=context, print=None, access_log=None)


if __name__ == "__main__":
    main()
