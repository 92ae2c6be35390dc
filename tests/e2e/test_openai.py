"""Agents that speak OpenAI's dialects, through the running daemon into the store."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from support.canned_upstream import Upstream

HOST = "api.openai.com"
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
MODEL = "gpt-5.1"
COMMAND = "python -m pytest -q"
OPENCODE = {"user-agent": "opencode/1.18.33 ai-sdk/5", "x-session-id": "ses_openai"}
CODEX = {
    "user-agent": "codex_exec/0.171.0 (Linux)",
    "session-id": "0199-session",
    "thread-id": "0199-session",
    "x-codex-turn-metadata": json.dumps({"turn_id": "turn-1", "request_kind": "turn"}),
}


@dataclass
class Client:
    """One agent behind the proxy."""

    stage: Stage
    upstream: Upstream
    path: str
    headers: dict[str, str]
    sent: list[bytes] = field(default_factory=list)

    def ask(self, document: dict[str, Any], answer: bytes) -> None:
        """One request, answered with these bytes; both must arrive as they are."""
        self.sent.append(json.dumps({"model": MODEL, **document}).encode())
        self.upstream.answers.append(answer)
        daemon = json.loads(self.stage.paths.daemon_file.read_bytes())
        trust = ssl.create_default_context(cafile=str(self.stage.paths.ca_cert))
        connection = http.client.HTTPSConnection("127.0.0.1", daemon["proxy_port"], timeout=300, context=trust)
        connection.set_tunnel(HOST)
        try:
            named = {"content-type": "application/json", "authorization": "Bearer sk-test-only", **self.headers}
            connection.request("POST", self.path, self.sent[-1], named)
            assert connection.getresponse().read() == answer
            assert self.upstream.received[-1] == (self.path, self.sent[-1])
        finally:
            connection.close()

    def rows(self, columns: str, table: str, count: int, session: str) -> list[dict[str, Any]]:
        """The rows of this session, once there are that many."""
        sql = f"SELECT {columns} FROM {table} WHERE session_id = '{session}' ORDER BY start_time"
        store = StoreView(self.stage.paths)
        assert wait_until(lambda: len(store.rows(sql)) >= count), store.rows(sql)
        return store.rows(sql)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def stage(upstream: Upstream) -> Iterator[Stage]:
    with Stage("", settings={"SPANLORE_UPSTREAMS": f"{HOST}=http://127.0.0.1:{upstream.port}"}) as stage:
        stage.up()
        yield stage


def chunks(*deltas: dict[str, Any], reason: str, usage: tuple[int, int, int, int]) -> bytes:
    """A streamed completion; usage: prompt, cached, completion, reasoning."""
    sent, cached, came, thought = usage
    counts: dict[str, Any] = {
        "prompt_tokens": sent,
        "completion_tokens": came,
        "total_tokens": sent + came,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }
    head: dict[str, Any] = {"id": f"chatcmpl-{sent}", "object": "chat.completion.chunk", "model": f"{MODEL}-2025-11-13"}
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    documents = [{**head, "choices": [one]} for one in (*choices, {"index": 0, "delta": {}, "finish_reason": reason})]
    documents.append({**head, "choices": [], "usage": counts})
    return b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in documents) + b"data: [DONE]\n\n"


def events(*items: dict[str, Any], usage: tuple[int, int, int, int], response_id: str = "") -> bytes:
    """A streamed response; usage: input, cached, output, reasoning."""
    sent, cached, came, thought = usage
    counts = {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": came,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": sent + came,
    }
    head = {
        "id": response_id or f"resp_{sent}",
        "object": "response",
        "model": f"{MODEL}-2025-11-13",
        "status": "in_progress",
    }
    said: list[dict[str, Any]] = [{"type": "response.created", "response": {**head, "output": []}}]
    said += [{"type": "response.output_item.done", "output_index": i, "item": item} for i, item in enumerate(items)]
    done = {**head, "status": "completed", "output": list(items), "usage": counts}
    said.append({"type": "response.completed", "response": done})
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in said)


def tool_call(id_: str) -> dict[str, Any]:
    function = {"name": "bash", "arguments": json.dumps({"command": COMMAND})}
    return {"id": id_, "type": "function", "function": function}


def streamed(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The call in pieces."""
    function = call["function"]
    half = len(function["arguments"]) // 2
    return [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{**call, "index": 0, "function": {**function, "arguments": ""}}],
        },
        {"tool_calls": [{"index": 0, "function": {"arguments": function["arguments"][:half]}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": function["arguments"][half:]}}]},
    ]


def test_a_chat_agent_is_captured(stage: Stage, upstream: Upstream) -> None:
    """OpenCode, which says nothing about outcomes: its tools, tokens, turn and words; its bytes arrive as they were."""
    client = Client(stage, upstream, CHAT, OPENCODE)
    tools = [{"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}]
    said: list[dict[str, Any]] = [
        {"role": "system", "content": "You are OpenCode."},
        {"role": "user", "content": "fix the tests"},
    ]
    outputs = ["FAILED test_x.py\n=== 1 failed in 0.10s ===", "=== 2 passed in 0.10s ==="]
    for number, output in enumerate(outputs):
        call = tool_call(f"call_{number}")
        usage = (1000 + number, 900, 20, 5)
        client.ask(
            {"messages": said, "tools": tools, "stream": True},
            chunks(*streamed(call), reason="tool_calls", usage=usage),
        )
        said = [
            *said,
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": output},
        ]
    client.ask(
        {"messages": said, "tools": tools, "stream": True},
        chunks({"role": "assistant", "content": "Fixed."}, reason="stop", usage=(1100, 1000, 3, 0)),
    )
    columns = (
        "session_id, conversation, harness, call_class, dialect, provider, request_model, input_tokens, output_tokens, "
        " cache_read_tokens, reasoning_tokens, finish_reason, injected_bytes, toFloat64(cost_usd) AS cost"
    )
    inferences = client.rows(columns, "inferences", 3, OPENCODE["x-session-id"])
    calls = client.rows(
        "tool_call_id, outcome, outcome_reason, program, command, duration_ns",
        "tool_calls",
        2,
        OPENCODE["x-session-id"],
    )
    turns = client.rows("prompt, inferences, tool_calls, failures, end", "turns", 1, OPENCODE["x-session-id"])

    assert {(row["session_id"], row["harness"]) for row in inferences} == {("ses_openai", "opencode")}
    assert len({row["conversation"] for row in inferences}) == 1
    assert [int(row["input_tokens"]) for row in inferences] == [1000, 1001, 1100]
    assert [int(row["output_tokens"]) for row in inferences] == [20, 20, 3]
    assert [int(row["cache_read_tokens"]) for row in inferences] == [900, 900, 1000]
    assert [int(row["reasoning_tokens"]) for row in inferences] == [5, 5, 0]
    assert [row["finish_reason"] for row in inferences] == ["tool_call", "tool_call", "stop"]
    assert {(row["dialect"], row["provider"], row["call_class"], row["request_model"]) for row in inferences} == {
        ("openai_chat", "openai", "main", MODEL)
    }
    assert all(row["cost"] > 0 and int(row["injected_bytes"]) == 0 for row in inferences)
    assert [(row["tool_call_id"], row["outcome"], row["outcome_reason"]) for row in calls] == [
        ("call_0", "failure", "output"),
        ("call_1", "success", "output"),
    ]
    assert all(
        row["program"] == "pytest" and row["command"] == COMMAND and int(row["duration_ns"]) > 0 for row in calls
    )
    assert [(row["prompt"], int(row["tool_calls"]), int(row["failures"]), row["end"]) for row in turns] == [
        ("fix the tests", 2, 1, "completed")
    ]


def function_call(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{id_}",
        "call_id": id_,
        "name": name,
        "arguments": json.dumps(arguments),
    }


def output(id_: str, status: str, text: str) -> dict[str, Any]:
    printed = f"Chunk ID: 1\nWall time: 1.0 seconds\n{status}\nOriginal token count: 1\nOutput:\n{text}"
    return {"type": "function_call_output", "call_id": id_, "output": printed}


def test_codex_over_http_is_captured(stage: Stage, upstream: Upstream) -> None:
    """A slow command fails under the id of the call that waited for it, and is told with the command itself."""
    client = Client(stage, upstream, RESPONSES, CODEX)
    tools = [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}]
    sealed = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    run, wait = (
        function_call("call_a", "exec_command", cmd=COMMAND),
        function_call("call_b", "write_stdin", session_id=7),
    )
    said: list[dict[str, Any]] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You are Codex."}]},
        {"role": "user", "content": "<environment_context><cwd>/nowhere</cwd></environment_context>"},
        {"role": "user", "content": [{"type": "input_text", "text": "run the tests"}]},
    ]
    document = {"tools": tools, "stream": True, "store": False}
    client.ask({"input": said, **document}, events(sealed, run, usage=(2000, 1500, 30, 12)))
    said = [*said, sealed, run, output("call_a", "Process running with session ID 7", "")]
    client.ask({"input": said, **document}, events(wait, usage=(2100, 2000, 10, 0)))
    said = [*said, wait, output("call_b", "Process exited with code 1", "E   ImportError: no module named x")]
    end = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "They fail."}]}
    client.ask({"input": said, **document}, events(end, usage=(2200, 2100, 5, 0)))

    columns = "harness, call_class, dialect, input_tokens, cache_read_tokens, reasoning_tokens, finish_reason"
    inferences = client.rows(columns, "inferences", 3, CODEX["session-id"])
    calls = client.rows(
        "tool_name, outcome, outcome_reason, exit_code, program, command", "tool_calls", 2, CODEX["session-id"]
    )
    human = StoreView(stage.paths).rows("SELECT text FROM human_messages WHERE session_id = '0199-session'")

    assert {(row["harness"], row["call_class"], row["dialect"]) for row in inferences} == {
        ("codex", "main", "openai_responses")
    }
    assert [int(row["input_tokens"]) for row in inferences] == [2000, 2100, 2200]
    assert [int(row["cache_read_tokens"]) for row in inferences] == [1500, 2000, 2100]
    assert [int(row["reasoning_tokens"]) for row in inferences] == [12, 0, 0]
    assert [row["finish_reason"] for row in inferences] == ["tool_call", "tool_call", "stop"]
    assert [tuple(row.values()) for row in calls] == [
        ("exec_command", "unknown", "running", None, "pytest", COMMAND),
        ("write_stdin", "failure", "exit_code", 1, "pytest", COMMAND),
    ]
    assert human == [{"text": "run the tests"}]


def test_a_history_that_stays_with_the_server(stage: Stage, upstream: Upstream) -> None:
    """A client that sends only what is new is one conversation, its tool answered by the second request."""
    client = Client(stage, upstream, RESPONSES, {"user-agent": "codex_exec/0.171.0", "session-id": "stored"})
    tools = [{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}]
    run = function_call("call_s", "exec_command", cmd="make")
    client.ask({"input": "build it", "tools": tools}, events(run, usage=(100, 0, 9, 0), response_id="resp_first"))
    end = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Built."}]}
    client.ask(
        {
            "input": [output("call_s", "Process exited with code 0", "ok")],
            "previous_response_id": "resp_first",
            "tools": tools,
        },
        events(end, usage=(150, 100, 3, 0)),
    )
    sql = (
        "SELECT conversation, message_count, step_index FROM inferences WHERE session_id = 'stored' ORDER BY start_time"
    )
    store = StoreView(stage.paths)
    assert wait_until(lambda: len(store.rows(sql)) == 2)
    inferences = store.rows(sql)
    (call,) = store.rows("SELECT outcome, exit_code, duration_ns FROM tool_calls WHERE session_id = 'stored'")

    assert len({row["conversation"] for row in inferences}) == 1
    assert [(int(row["message_count"]), int(row["step_index"])) for row in inferences] == [(1, 0), (3, 1)]
    assert (call["outcome"], call["exit_code"]) == ("success", 0)
    assert int(call["duration_ns"]) > 0
