"""What Gemini requests say about their purpose, and how Gemini CLI's session is followed without any id."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Channel, Outcome, Workplace
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.conversation.gemini_cli import Envelope, call_class, read_envelope, stated_cwd
from spanlore_proxy.conversation.tracker import Observed, Tracker
from spanlore_proxy.wire.codecs import fold_exchange, read_request
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End, Exchange
from spanlore_proxy.wire.gemini.request import parse_request
from spanlore_proxy.wire.request import WireRequest

SECOND_NS = 1_000_000_000
HOST = "generativelanguage.googleapis.com"
STREAM = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
ROUTER = "/v1beta/models/gemini-2.5-flash-lite:generateContent"
CONTEXT = (
    "<session_context>\nThis is the Gemini CLI.\nToday's date is Friday.\n"
    "- **Workspace Directories:**\n  - /home/me/shop\n- **Directory Structure:**\n</session_context>"
)
FUNCTIONS = [{"functionDeclarations": [{"name": "run_shell_command"}, {"name": "invoke_agent"}]}]
SCHEMA = {"responseJsonSchema": {"type": "object"}, "responseMimeType": "application/json"}


def request_of(**body: Any) -> WireRequest:
    return parse_request(json.dumps({"contents": [{"parts": [{"text": "hi"}]}], **body}).encode())


@dataclass
class Play:
    """Gemini CLI, and the tracker that watches it."""

    tracker: Tracker = field(default_factory=Tracker)
    contents: list[dict[str, Any]] = field(default_factory=list)
    now_ns: int = 1_700_000_000 * SECOND_NS

    def say(self, *texts: str) -> None:
        self.contents.append({"role": "user", "parts": [{"text": text} for text in texts]})

    def answer_tool(self, name: str, **response: Any) -> None:
        """A result with the CLI's own id."""
        made = f"{name}-{self.now_ns // 1_000_000}-902f304bae8ae"
        part = {"functionResponse": {"id": made, "name": name, "response": response}}
        self.contents.append({"role": "user", "parts": [part]})

    def ask(self, *parts: dict[str, Any], path: str = STREAM, **changes: Any) -> Observed:
        """One request with the whole history; the CLI takes the answer into it, without its thoughts."""
        body = {"contents": self.contents, "tools": FUNCTIONS, **changes}
        chunk = {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": "STOP"}]}
        observed = self._exchange(json.dumps(body).encode(), json.dumps(chunk), path)
        if path == STREAM:
            kept = [part for part in parts if not part.get("thought")]
            self.contents = [*self.contents, {"role": "model", "parts": kept}]
        return observed

    def _exchange(self, body: bytes, answer: str, path: str) -> Observed:
        start, self.now_ns = self.now_ns + SECOND_NS, self.now_ns + 3 * SECOND_NS
        exchange = Exchange(
            "0" * 16, "POST", "https", HOST, 443, path,
            (("user-agent", "GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64)"), ("x-goog-api-key", "[credential]")),
            (("content-type", "text/event-stream"),),
            body, f"data: {answer}\r\n\r\n".encode(), 200, start, self.now_ns, self.now_ns, End.COMPLETE,
        )  # fmt: skip
        endpoint = recognise("POST", HOST, path)
        assert endpoint is not None
        request = read_request(body, endpoint)
        response = fold_exchange(exchange, endpoint.dialect, request)
        identity = identify(exchange, request, endpoint)
        return self.tracker.observe(exchange, request, response, identity, Workplace(run_id="run-1"))


def run(command: str) -> dict[str, Any]:
    return {"functionCall": {"name": "run_shell_command", "args": {"command": command}}, "thoughtSignature": "c2ln"}


@pytest.mark.parametrize(
    ("body", "harness", "expected"),
    [
        ({"tools": FUNCTIONS}, "gemini-cli", CallClass.MAIN),
        ({"tools": [{"functionDeclarations": [{"name": "complete_task"}]}]}, "gemini-cli", CallClass.SUBAGENT),
        ({"tools": [{"functionDeclarations": [{"name": "complete_task"}]}]}, "unknown", CallClass.MAIN),
        ({"generationConfig": SCHEMA}, "gemini-cli", CallClass.SIDE),
        ({"generationConfig": {"response_schema": {}}}, "unknown", CallClass.SIDE),
        ({"tools": [{"googleSearch": {}}]}, "gemini-cli", CallClass.SIDE),
        ({}, "unknown", None),
    ],
)
def test_what_a_call_is_for(body: dict[str, Any], harness: str, expected: CallClass | None) -> None:
    """Functions are a main call's, `complete_task` a sub-agent's; JSON answers and searches are asked for aside."""
    assert call_class(request_of(**body), (), harness) is expected


def test_the_summariser() -> None:
    """It is told by its system prompt."""
    prompt = (
        "\nYou are a specialized system component responsible for distilling chat history into a structured XML <s>"
    )

    assert call_class(request_of(), (prompt,), "gemini-cli") is CallClass.COMPACTION


def test_the_envelope() -> None:
    """A Google login names session and prompt, an API key nothing."""
    envelope = {"model": "m", "user_prompt_id": "s-1########2", "request": {"contents": [], "session_id": "s-1"}}

    assert read_envelope(parse_request(json.dumps(envelope).encode())) == Envelope("s-1", "s-1########2")
    assert read_envelope(request_of()) == Envelope()


def test_the_working_directory() -> None:
    """As newer and older versions state it."""
    assert stated_cwd(CONTEXT) == "/home/me/shop"
    assert stated_cwd("I'm currently working in the directory: /a b\nHere") == "/a b"
    assert stated_cwd("I'm working") == ""


def test_a_session_without_ids() -> None:
    """Calls and results pair, durations are right, one session, one conversation, the person's words alone."""
    play = Play()
    play.say(CONTEXT, "fix the tests")
    router = play.ask({"text": "{}"}, path=ROUTER, tools=[], generationConfig=SCHEMA)
    first = play.ask({"text": "Let me see.", "thought": True}, {"text": "I run"}, {"text": " them."}, run("pytest -q"))
    play.answer_tool(
        "run_shell_command",
        output="<untrusted_context>\nOutput: 1 failed\nExit Code: 1\nProcess Group PGID: 5\n</untrusted_context>",
    )
    second = play.ask(run("pytest -q"))
    play.answer_tool("run_shell_command", output="<untrusted_context>\nOutput: 1 passed\n</untrusted_context>")
    third = play.ask({"text": "Done."})
    tools = [*second.observation.tools, *third.observation.tools]

    assert router.inference.request_model == "gemini-2.5-flash-lite"
    assert router.observation.place.call_class is CallClass.SIDE
    assert [(tool.outcome, tool.exit_code) for tool in tools] == [(Outcome.FAILURE, 1), (Outcome.SUCCESS, 0)]
    assert [tool.end_time_ns - tool.start_time_ns for tool in tools] == [SECOND_NS, SECOND_NS]
    assert tools[0].call.id != tools[1].call.id
    assert len({one.observation.place.conversation for one in (first, second, third)}) == 1
    assert [(said.channel, said.text) for said in first.observation.human] == [(Channel.USER_MESSAGE, "fix the tests")]
    assert [one.inference.new_from for one in (first, second, third)] == [0, 2, 4]
    assert second.observation.human == third.observation.human == ()
    assert [turn.end for turn in third.observation.turns] == ["completed"]


def test_who_it_is() -> None:
    """Program, version, directory, and a key that stands in the query."""
    body = json.dumps({"contents": [{"parts": [{"text": CONTEXT}]}], "tools": FUNCTIONS}).encode()
    path = f"{STREAM}&key=[credential:query]"
    endpoint = recognise("POST", HOST, path)
    assert endpoint is not None
    exchange = Exchange(
        "0" * 16, "POST", "https", HOST, 443, path, (("user-agent", "GeminiCLI/0.61.0/gemini-3 (linux)"),), (),
        body, b"", 200, 1, None, 2, End.COMPLETE,
    )  # fmt: skip
    found = identify(exchange, read_request(body, endpoint), endpoint)

    assert (found.harness, found.harness_version) == ("gemini-cli", "0.61.0")
    assert (found.session_id, found.credential, found.cwd_hint) == (None, "api_key", "/home/me/shop")


def test_a_tool_that_reports_an_error() -> None:
    """`error` in place of `output` is a failure; a refusal is the person's doing."""
    play = Play()
    play.say(CONTEXT, "edit it")
    play.ask({"functionCall": {"name": "replace", "args": {}}}, {"functionCall": {"name": "write_file", "args": {}}})
    made = {"name": "replace", "response": {"error": "Failed to edit, could not find the string to replace."}}
    denied = {"name": "write_file", "response": {"error": "[Operation Cancelled] Reason: User denied execution."}}
    play.contents.append({"role": "user", "parts": [{"functionResponse": made}, {"functionResponse": denied}]})
    observed = play.ask({"text": "Sorry."})

    assert [tool.outcome for tool in observed.observation.tools] == [Outcome.FAILURE, Outcome.REJECTED]


def test_a_sub_agent_is_one() -> None:
    """Its call is told by its tools, and speaks for no person."""
    play = Play()
    play.say("Investigate the failing test.")
    tools = [{"functionDeclarations": [{"name": "read_file"}, {"name": "complete_task"}]}]
    observed = play.ask({"text": "x"}, tools=tools)

    assert observed.observation.place.call_class is CallClass.SUBAGENT
    assert observed.observation.human == ()
