"""One session of thirty exchanges in which everything happens that happens to agents: all thirty are recorded, with
every answer, and with what came of the one that was cut."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard
from aiohttp import web

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord
from support.capture_client import Answer, Connection, post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, message
from support.capture_proxy import CREDENTIALS, HOST, running_proxy
from support.capture_upstream import answering, api_server, streaming

TOOLS = [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}]
ENCODERS = {
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(id_: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def result(id_: str, words: str, *, is_error: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": words, "is_error": is_error}


@dataclass
class Session:
    """Claude Code's part: what it sends, and what it got."""

    connection: Connection
    api: Any
    messages: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0
    expected: dict[str, str] = field(default_factory=dict)
    """Response id → a text of its answer."""

    async def ask(
        self,
        *blocks: dict[str, Any],
        messages: list[dict[str, Any]] | None = None,
        headers: tuple[str, ...] = (),
        encoding: str = "",
        kind: str = "json",
        **changes: Any,
    ) -> Answer:
        """One exchange, answered with these blocks; the main loop's history takes them."""
        self.count += 1
        id_ = f"msg_{self.count}"
        words = next((block["text"] for block in blocks if block["type"] == "text"), "")
        self.expected[id_] = words or f'"{blocks[0]["id"]}"'
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        whole = message("", id_, content=list(blocks), stop_reason=stop)
        self.api.answer = streaming(*events(words, message_id=id_)) if kind == "stream" else answering(whole)
        answer = await self.send(self.messages if messages is None else messages, headers, encoding, **changes)
        if messages is None:
            self.messages.append({"role": "assistant", "content": list(blocks)})
        return answer

    async def fail(self, status: int, error: str) -> Answer:
        """The main loop's request, refused."""
        self.count += 1
        body = json.dumps({"type": "error", "error": {"type": error, "message": error}}).encode()
        self.api.answer = answering(body, status=status)
        return await self.send(self.messages)

    async def send(
        self, messages: list[dict[str, Any]], headers: tuple[str, ...] = (), encoding: str = "", **changes: Any
    ) -> Answer:
        path = changes.pop("path", "/v1/messages?beta=true")
        document = {"model": "claude-opus-5-5", "max_tokens": 100, "system": [text("You code.")], "tools": TOOLS}
        body = json.dumps(document | {"messages": messages} | changes).encode()
        more = (f"Content-Encoding: {encoding}",) if encoding else ()
        names = {line.partition(":")[0].lower() for line in headers}
        kept = tuple(line for line in AGENT_HEADERS if line.partition(":")[0].lower() not in names)
        sent = ENCODERS[encoding](body) if encoding else body
        return await self.connection.ask(post(sent, *kept, *headers, *more, target=path))


async def play(session: Session) -> dict[str, Any]:
    """Thirty exchanges; gives what the test asks for."""
    say = session.messages.append
    seen: dict[str, Any] = {}
    title = ("x-claude-code-request-class: auxiliary",)
    sub = ("x-claude-code-request-class: subagent", "x-claude-code-agent-id: a0123456789abcdef")
    task = [user(text("Look for the bug."))]

    say(user(text("Build it.")))
    schema = {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}}
    await session.ask(
        text("Building"), messages=[user(text("Build it."))], headers=title, tools=[], output_config=schema
    )
    await session.ask(text("12"), messages=session.messages, path="/v1/messages/count_tokens?beta=true")
    seen["overloaded"] = [await session.fail(529, "overloaded_error") for _ in range(2)]
    await session.ask(text("I build."), call("t1", command="make"), encoding="gzip")
    say(user(result("t1", "Exit code 2\nmake: *** No rule", is_error=True)))
    await session.ask(text("Another way."), call("t2", command="ninja"), encoding="zstd")
    say(user(result("t2", "ok")))
    await session.ask(call("a1", "Agent", description="look", prompt="Look for the bug."))
    say(user(result("a1", "Async agent launched successfully. agentId: a0123456789abcdef")))
    for step in range(4):  # side by side with the sub-agent
        await session.ask(call(f"s{step}", command="rg bug"), messages=task, headers=sub)
        task += [{"role": "assistant", "content": [call(f"s{step}", command="rg bug")]}, user(result(f"s{step}", "x"))]
        await session.ask(call(f"m{step}", command="ls"), encoding=("gzip", "zstd", "", "")[step])
        say(user(result(f"m{step}", "a.py")))
    await session.ask(text("It is line 3."), messages=task, headers=sub)
    await session.ask(text("All built."), kind="stream")

    say(user(text("Now write it all down.")))
    session.count += 1
    session.api.answer = streaming(*events("What was written ", "so far", message_id="msg_cut")[:4], ending="cut")
    seen["cut"] = await session.send(session.messages)
    return seen


async def finish(session: Session) -> None:
    """On a new connection, since the last one was cut."""
    await session.ask(text("What was written so far, and the rest."), kind="stream")
    for turn in range(11):
        session.messages.append(user(text(f"Go on, {turn}.")))
        await session.ask(text(f"Done {turn}."), kind="stream" if turn % 2 else "json")


def chat_of(spans: list[SpanRecord]) -> dict[str, SpanRecord]:
    return {str(span.attributes[gen_ai.RESPONSE_ID]): span for span in spans if gen_ai.RESPONSE_ID in span.attributes}


async def test_thirty_of_thirty(tmp_path: Path) -> None:
    """529 and retry, a sub-agent, gzip and zstd bodies, a cut stream, a title and a token count among them."""

    async def none_yet(request: web.Request, body: bytes) -> web.StreamResponse:
        raise AssertionError

    async with (
        api_server(none_yet) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        target = f"{HOST}:443"
        async with tunnelled(proxy.port, target, proxy.ca, credentials=CREDENTIALS) as connection:
            session = Session(connection, api)
            seen = await play(session)
        async with tunnelled(proxy.port, target, proxy.ca, credentials=CREDENTIALS) as connection:
            session.connection = connection
            await finish(session)
        chats = await proxy.collector.chats(30)
        spans = proxy.collector.spans
    answers = chat_of(chats)
    failed = [chat for chat in chats if chat.attributes.get(lore.HTTP_STATUS) == 529]
    main = [chat for chat in chats if chat.attributes[lore.CALL_CLASS] == "main"]
    sub = [chat for chat in chats if chat.attributes[lore.CALL_CLASS] == "subagent"]

    assert (session.count, len(chats), len(api.received), proxy.service.counts.count("lost")) == (30, 30, 30, 0)
    for id_, words in session.expected.items():
        assert words in str(answers[id_].attributes[gen_ai.OUTPUT_MESSAGES]), id_
    assert [answer.status for answer in seen["overloaded"]] == [529, 529]
    assert [chat.attributes[lore.STEP] for chat in failed] == [0, 0]
    cut = answers["msg_cut"].attributes
    assert seen["cut"].is_whole is False
    assert (cut[lore.COMPLETE], cut[gen_ai.ERROR_TYPE]) == (False, "stream_cut")
    assert "What was written so far" in str(cut[gen_ai.OUTPUT_MESSAGES])
    assert len({chat.attributes[lore.CONVERSATION] for chat in main}) == 1
    assert len(sub) == 5 and len({chat.attributes[lore.CONVERSATION] for chat in sub}) == 1
    (launcher,) = [span for span in spans if span.attributes.get(gen_ai.TOOL_CALL_ID) == "a1"]
    (agent,) = [
        span
        for span in spans
        if span.name.startswith("invoke_agent") and span.attributes[lore.CALL_CLASS] == "subagent"
    ]
    assert agent.parent_span_id == launcher.span_id and agent.attributes[lore.TURN_INFERENCES] == 5
    told = [span.attributes[gen_ai.TOOL_CALL_ID] for span in spans if span.name.startswith("execute_tool")]
    assert sorted(map(str, told)) == sorted(["t1", "t2", "a1", *(f"{who}{n}" for who in "sm" for n in range(4))])
    turns = [span for span in spans if span.name.startswith("invoke_agent") and span is not agent]
    assert [turn.attributes[lore.TURN_INFERENCES] for turn in turns] == [10, 2, *[1] * 11]
