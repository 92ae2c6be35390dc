"""Twenty sessions at once through the running daemon, with all that happens to agents: overloaded servers and retries,
cut streams, packed bodies, side calls, sub-agents, long silences. Each exchange is recorded once, with its answer.

A few seconds by themselves; SPANLORE_TEST_LOAD_S=600 for ten minutes (`pytest -s` prints what was measured).
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import ssl
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import psutil
import zstandard
from aiohttp import web

from spanlore.settings import child_environment
from spanlore_proxy.bench.soak import rise
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView
from support.capture_messages import events, message
from support.capture_proxy import HOST
from support.capture_upstream import api_server, streaming

LOAD_S = float(child_environment({}).get("SPANLORE_TEST_LOAD_S", "2"))
SESSIONS = 20
LONGEST = 40
"""Messages of a conversation before the next one begins."""
SILENCE_S = min(60.0, LOAD_S / 2)
PAUSE_S = 0.4 if LOAD_S > 60 else 0.05
MAX_PROXY_MB, MAX_RISE_MB = 200, 15
MB = 1_000_000
KINDS = {
    "json": 30, "stream": 30, "gzip": 8, "zstd": 8, "cut": 6, "overloaded": 6, "title": 5, "tokens": 3, "sub": 5,
    "silent": 0.5,
}  # fmt: skip
"""What an exchange is, and how often."""
ENCODERS = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor().compress}
TOOLS = [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}]
TITLE = {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}}


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": words}]}


async def answer(request: web.Request, _: bytes) -> web.StreamResponse:
    """What the scripted model says to an exchange of that kind and id."""
    kind, id_ = request.headers["x-test-kind"], request.headers["x-test-id"]
    if kind == "overloaded":
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return web.json_response(error, status=529)
    if kind == "tokens":
        return web.json_response({"input_tokens": 12})
    if kind in ("stream", "cut", "silent"):
        parts = events(f"answer {id_}", " goes on", message_id=id_)
        frames = parts[:3] if kind == "cut" else parts
        pause_s = SILENCE_S / len(frames) if kind == "silent" else 0.001
        ending = "cut" if kind == "cut" else "complete"
        return await streaming(*frames, pause_s=pause_s, ending=ending)(request, b"")
    return web.Response(body=message(f"answer {id_}", id_), content_type="application/json")


@dataclass
class Load:
    """Twenty clients and what they expect to find."""

    http: aiohttp.ClientSession
    proxy: str
    trust: ssl.SSLContext
    ends_at_s: float
    complete: dict[str, bool] = field(default_factory=dict)
    """Response id → whether the answer was whole."""
    kinds: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)
    """What a client saw that nobody had scripted."""

    async def play(self, number: int) -> None:
        """One session after the other, until the time is up."""
        lots = random.Random(number)
        while time.monotonic() < self.ends_at_s:
            session, messages = str(uuid.UUID(int=lots.getrandbits(128))), [user(f"task {number} {lots.random()}")]
            while time.monotonic() < self.ends_at_s and len(messages) < LONGEST:
                await self.step(lots, session, messages)
                await asyncio.sleep(lots.random() * 2 * PAUSE_S)

    async def step(self, lots: random.Random, session: str, messages: list[dict[str, Any]]) -> None:
        kind = lots.choices(list(KINDS), list(KINDS.values()))[0]
        main = [("x-claude-code-request-class", "main")]
        if kind == "title":
            changes: dict[str, Any] = {"tools": [], "output_config": TITLE}
            await self.send(kind, session, messages[:1], [("x-claude-code-request-class", "auxiliary")], **changes)
            return
        if kind == "tokens":
            await self.send(kind, session, messages, main, path="/v1/messages/count_tokens")
            return
        if kind == "sub":
            agent = f"a{lots.getrandbits(60):015x}"
            named = [("x-claude-code-request-class", "subagent"), ("x-claude-code-agent-id", agent)]
            task = [user(f"look for {agent}")]
            for _ in range(2):
                said = await self.send(kind, session, task, named)
                task += [{"role": "assistant", "content": [{"type": "text", "text": said}]}, user("and?")]
            return
        said = await self.send(kind, session, messages, main)
        if kind in ("overloaded", "cut"):
            said = await self.send("stream", session, messages, main)  # once more
        text = {"type": "text", "text": said + " word" * lots.randrange(800)}
        messages += [{"role": "assistant", "content": [text]}, user(f"next {lots.random()}")]

    async def send(
        self,
        kind: str,
        session: str,
        messages: list[dict[str, Any]],
        named: list[tuple[str, str]],
        path: str = "/v1/messages?beta=true",
        **changes: Any,
    ) -> str:
        """One exchange; gives what the model said."""
        self.kinds[kind] += 1
        id_ = f"msg_{self.kinds.total()}"
        document = {"model": "claude-opus-5-5", "max_tokens": 9, "system": "You code.", "tools": TOOLS}
        body = json.dumps(document | {"messages": messages} | changes).encode()
        headers = {
            "x-api-key": "sk-ant-api03-not-a-key",
            "content-type": "application/json",
            "user-agent": "claude-cli/2.1.332 (external, sdk-cli)",
            "x-claude-code-session-id": session,
            "x-test-kind": kind,
            "x-test-id": id_,
            **dict(named),
        }
        if kind in ENCODERS:
            body, headers["content-encoding"] = ENCODERS[kind](body), kind
        if kind not in ("overloaded", "tokens"):
            self.complete[id_] = kind != "cut"
        url = f"https://{HOST}{path}"
        try:
            async with self.http.post(url, data=body, headers=headers, proxy=self.proxy, ssl=self.trust) as response:
                data = await response.read()
            if response.status != (529 if kind == "overloaded" else 200) or kind == "cut":
                self.broken.append(f"{id_} {kind}: {response.status}")
            elif kind in ("json", "stream", "silent") and f"answer {id_}".encode() not in data:
                self.broken.append(f"{id_} {kind}: {data[:200]!r}")
        except aiohttp.ClientError as error:
            if kind != "cut":
                self.broken.append(f"{id_} {kind}: {error!r}")
        return f"answer {id_} goes on"


async def run(stage: Stage, readings: list[float]) -> Load:
    """The load, and the proxy's resident megabytes meanwhile."""
    daemon = json.loads(stage.paths.daemon_file.read_bytes())
    proxy = psutil.Process(json.loads(stage.paths.proxy_status_file.read_bytes())["pid"])
    trust = ssl.create_default_context(cafile=str(stage.paths.ca_cert))
    connector = aiohttp.TCPConnector(limit=2 * SESSIONS)
    patience = aiohttp.ClientTimeout(total=300)
    async with aiohttp.ClientSession(connector=connector, timeout=patience, auto_decompress=True) as http:
        url = f"http://127.0.0.1:{daemon['proxy_port']}"
        load = Load(http, url, trust, time.monotonic() + LOAD_S)
        playing = asyncio.gather(*(load.play(number) for number in range(SESSIONS)))
        while not playing.done():
            readings.append(proxy.memory_info().rss / MB)
            await asyncio.wait([playing], timeout=1)
        await playing
    return load


STORED = """
SELECT response_id, count() AS rows, any(is_complete) AS is_complete, any(text) AS text FROM (
    SELECT DISTINCT span_id, response_id, is_complete FROM inferences WHERE response_id LIKE 'msg_%'
) AS i LEFT JOIN (
    SELECT p.span_id AS span_id, any(c.body) AS text FROM message_parts AS p
    INNER JOIN content AS c ON c.hash = p.content_hash WHERE p.direction = 'output' GROUP BY p.span_id
) AS o USING (span_id) GROUP BY response_id
"""
OTHERS = "SELECT uniqExact(span_id) AS n FROM inferences WHERE "


async def test_twenty_sessions_of_everything() -> None:
    """Nothing but the cut streams broke; each exchange is in the store once, the cut ones with what came of them; the
    proxy's memory stays within its bound and where it was."""
    readings: list[float] = []
    async with api_server(answer) as api:
        api.received = Forgetful()
        with Stage(api.url) as stage:
            await asyncio.to_thread(stage.up)
            load = await run(stage, readings)
            store, expected = StoreView(stage.paths), load.kinds.total()
            deadline = time.monotonic() + 120
            while int((await asyncio.to_thread(store.rows, f"{OTHERS} 1"))[0]["n"]) < expected:
                assert time.monotonic() < deadline, "not everything was stored in time"
                await asyncio.sleep(0.5)
            stored = await asyncio.to_thread(store.rows, STORED)
            failed = await asyncio.to_thread(store.rows, f"{OTHERS} status_code = 529")
            counted = await asyncio.to_thread(store.rows, f"{OTHERS} call_class = 'count_tokens'")
            status = json.loads(stage.paths.proxy_status_file.read_bytes())
    found = {row["response_id"]: row for row in stored}
    rate, grown = expected / LOAD_S, rise([round(reading, 1) for reading in readings])
    sys.stdout.write(
        f"\n{expected} exchanges in {LOAD_S:.0f} s ({rate:.0f}/s): {dict(load.kinds)}; proxy at most "
        f"{max(readings):.0f} MB, {grown:+.1f} MB from the second third to the last; lag {status['lag']}\n"
    )

    assert load.broken == []
    assert {id_: bool(row["is_complete"]) for id_, row in found.items()} == load.complete
    assert [id_ for id_, row in found.items() if int(row["rows"]) != 1] == []
    assert [id_ for id_, row in found.items() if f"answer {id_}" not in row["text"]] == []
    assert int(failed[0]["n"]) == load.kinds["overloaded"] and int(counted[0]["n"]) == load.kinds["tokens"]
    assert not status["counters"].get("lost") and not status["counters"].get("not_captured")
    assert max(readings) <= MAX_PROXY_MB
    assert LOAD_S < 60 or grown <= MAX_RISE_MB


class Forgetful(list[Any]):
    """What arrived is nobody's concern here, and would be gigabytes."""

    def append(self, _: Any) -> None:
        """Forgets it."""
