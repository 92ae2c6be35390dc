"""Gemini CLI's traffic, and a Claude on Bedrock, through the running daemon into the store."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from support import recordings
from support.canned_upstream import Upstream

GEMINI = "generativelanguage.googleapis.com"
BEDROCK = "bedrock-runtime.us-east-1.amazonaws.com"
MODEL = "gemini-2.5-pro"
STREAM = f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
ROUTER = "/v1beta/models/gemini-2.5-flash-lite:generateContent"
INVOKE = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream"
HEADERS = {
    GEMINI: {"user-agent": "GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64)", "x-goog-api-key": "AIza-test-only"},
    BEDROCK: {"user-agent": "claude-cli/2.1.332 (external, cli)", "authorization": "AWS4-HMAC-SHA256 Credential=x"},
}
SESSION = "5f0c1a52-0000-4000-8000-00000000000b"
COMMAND = "python -m pytest -q"
FAILED = "<untrusted_context>\nOutput: 1 failed\nExit Code: 1\nProcess Group PGID: 5\n</untrusted_context>"
PASSED = "<untrusted_context>\nOutput: 2 passed\nProcess Group PGID: 6\n</untrusted_context>"


def chunk(*parts: dict[str, Any], reason: str | None = None, usage: tuple[int, int, int, int] | None = None) -> bytes:
    """One chunk of a stream; `usage`: prompt, cached, candidates, thoughts."""
    candidate = {"content": {"role": "model", "parts": list(parts)}, **({"finishReason": reason} if reason else {})}
    document: dict[str, Any] = {"candidates": [candidate], "modelVersion": MODEL}
    if usage is not None:
        prompt, cached, answer, thoughts = usage
        document["usageMetadata"] = {
            "promptTokenCount": prompt,
            "cachedContentTokenCount": cached,
            "candidatesTokenCount": answer,
            "thoughtsTokenCount": thoughts,
            "totalTokenCount": prompt + answer + thoughts,
        }
    return b"data: " + json.dumps(document).encode() + b"\r\n\r\n"


def run(command: str) -> dict[str, Any]:
    return {"functionCall": {"name": "run_shell_command", "args": {"command": command}}}


ANSWERS: list[tuple[str, bytes]] = [
    ("application/json", b'{"candidates": [{"content": {"parts": [{"text": "{}"}]}, "finishReason": "STOP"}]}'),
    (
        "text/event-stream",
        chunk({"text": "I think.", "thought": True})
        + chunk({"text": "Running"})
        + chunk({"text": " them."}, run(COMMAND), reason="STOP", usage=(5000, 4096, 20, 30)),
    ),
    ("text/event-stream", chunk(run(COMMAND), reason="STOP", usage=(5100, 5000, 10, 0))),
    ("text/event-stream", chunk({"text": "Fixed."}, reason="STOP", usage=(5200, 5100, 3, 0))),
]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def stage(upstream: Upstream) -> Iterator[Stage]:
    url = f"http://127.0.0.1:{upstream.port}"
    with Stage(url, settings={"SPANLORE_UPSTREAMS": f"{GEMINI}={url},{BEDROCK}={url}"}) as stage:
        stage.up()
        yield stage


def send(stage: Stage, host: str, path: str, body: bytes, **headers: str) -> bytes:
    """One request through the proxy; the answer's body."""
    daemon = json.loads(stage.paths.daemon_file.read_bytes())
    trust = ssl.create_default_context(cafile=str(stage.paths.ca_cert))
    connection = http.client.HTTPSConnection("127.0.0.1", daemon["proxy_port"], timeout=300, context=trust)
    connection.set_tunnel(host)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, {"content-type": "application/json", **HEADERS[host], **named})
        return connection.getresponse().read()
    finally:
        connection.close()


def result(output: str, number: int) -> dict[str, Any]:
    """A tool's result with an id of the CLI's own making."""
    response = {"id": f"run_shell_command-176807522505{number}-902f304bae8ae", "name": "run_shell_command"}
    return {"role": "user", "parts": [{"functionResponse": {**response, "response": {"output": output}}}]}


def play_gemini(stage: Stage, upstream: Upstream) -> list[bytes]:
    """A prompt, its router call, two tool calls and the end; the bodies as they were sent."""
    upstream.answers = list(ANSWERS)
    contents: list[dict[str, Any]] = [
        {
            "role": "user",
            "parts": [{"text": "<session_context>\nfriday\n</session_context>"}, {"text": "fix the tests"}],
        }
    ]
    tools = [{"functionDeclarations": [{"name": "run_shell_command", "parametersJsonSchema": {"type": "object"}}]}]
    system = {"role": "user", "parts": [{"text": "You are Gemini CLI."}]}
    schema = {"responseJsonSchema": {"type": "object"}, "responseMimeType": "application/json"}
    sent = [json.dumps({"contents": contents, "generationConfig": schema}).encode()]
    send(stage, GEMINI, ROUTER, sent[0])
    said = [[{"text": "Running them."}, run(COMMAND)], [run(COMMAND)], []]
    for number, (output, parts) in enumerate(zip((FAILED, PASSED, ""), said, strict=True)):
        sent.append(json.dumps({"contents": contents, "tools": tools, "systemInstruction": system}).encode())
        send(stage, GEMINI, STREAM, sent[-1])
        contents = [*contents, {"role": "model", "parts": parts}, result(output, number)]
    return sent


def rows_of(stage: Stage, sql: str, count: int) -> list[dict[str, Any]]:
    """The rows, once there are that many."""
    store = StoreView(stage.paths)
    assert wait_until(lambda: len(store.rows(sql)) >= count), store.rows(sql)
    return store.rows(sql)


def test_gemini_cli_is_captured(stage: Stage, upstream: Upstream) -> None:
    """Sessions, tokens, tools and the person's words are in the store; not a byte of what was sent is changed."""
    sent = play_gemini(stage, upstream)
    inferences = rows_of(
        stage,
        "SELECT session_id, conversation, call_class, dialect, provider, operation, request_model, input_tokens, "
        "output_tokens, cache_read_tokens, reasoning_tokens, finish_reason, session_inferred, "
        "toFloat64(cost_usd) AS cost_usd FROM inferences WHERE harness = 'gemini-cli' ORDER BY start_time",
        4,
    )
    tools = rows_of(
        stage,
        "SELECT tool_name, outcome, exit_code, command, duration_ns FROM tool_calls "
        "WHERE harness = 'gemini-cli' ORDER BY start_time",
        2,
    )
    human = rows_of(stage, "SELECT text, channel FROM human_messages WHERE harness = 'gemini-cli'", 1)
    turns = rows_of(
        stage, "SELECT prompt, inferences, tool_calls, failures, end FROM turns WHERE harness = 'gemini-cli'", 1
    )
    router, *main = inferences

    assert [body for path, body in upstream.received if path != INVOKE] == sent
    assert (router["call_class"], router["request_model"]) == ("side", "gemini-2.5-flash-lite")
    assert [row["call_class"] for row in main] == ["main"] * 3
    assert len({row["conversation"] for row in main}) == len({row["session_id"] for row in main}) == 1
    assert [int(row["input_tokens"]) for row in main] == [5000, 5100, 5200]
    assert [int(row["output_tokens"]) for row in main] == [50, 10, 3]
    assert [int(row["cache_read_tokens"]) for row in main] == [4096, 5000, 5100]
    assert [row["finish_reason"] for row in main] == ["tool_call", "tool_call", "stop"]
    assert all(row["cost_usd"] > 0 for row in main)
    assert {(row["dialect"], row["provider"], row["operation"], row["request_model"]) for row in main} == {
        ("gemini", "gcp.gemini", "generate_content", MODEL)
    }
    assert [(row["outcome"], int(row["exit_code"]), row["command"]) for row in tools] == [
        ("failure", 1, COMMAND),
        ("success", 0, COMMAND),
    ]
    assert all(int(row["duration_ns"]) > 0 and row["tool_name"] == "run_shell_command" for row in tools)
    assert human == [{"text": "fix the tests", "channel": "user_message"}]
    assert [(turn["prompt"], int(turn["tool_calls"]), int(turn["failures"]), turn["end"]) for turn in turns] == [
        ("fix the tests", 2, 1, "completed")
    ]


def test_bedrock_is_captured_and_never_rewritten(stage: Stage, upstream: Upstream) -> None:
    """A Claude behind an AWS event stream has its tokens and its model; the signed body arrives as it was sent."""
    recording = recordings.of("bedrock", "eventstream_messages")
    body = recordings.request_of("bedrock", "eventstream_messages")
    upstream.answers = [(recording.content_type, recording.body)]
    answer = send(stage, BEDROCK, INVOKE, body, x_claude_code_session_id=SESSION, x_claude_code_request_class="main")
    (row,) = rows_of(
        stage,
        "SELECT session_id, call_class, dialect, provider, request_model, input_tokens, output_tokens, injected_bytes, "
        "is_complete FROM inferences WHERE dialect = 'bedrock'",
        1,
    )

    assert answer == recording.body
    assert upstream.received[-1] == (INVOKE, body)
    assert (row["session_id"], row["call_class"], row["provider"]) == (SESSION, "main", "aws.bedrock")
    assert row["request_model"] == "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert int(row["input_tokens"]) == 702
    assert int(row["output_tokens"]) > 1
    assert int(row["injected_bytes"]) == 0
