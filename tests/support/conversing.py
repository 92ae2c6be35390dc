"""A Claude Code session played at a tracker: requests as dicts, answers as JSON bodies, a clock that steps seconds."""

import copy
import json
from dataclasses import dataclass, field, replace
from typing import Any

from spanlore.spans.encode import encode
from spanlore.spans.place import Workplace
from spanlore.spans.record import SpanRecord
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.conversation.tracker import Observed, Tracker
from spanlore_proxy.conversation.view import View
from spanlore_proxy.wire.anthropic import fold_response, parse_request
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End, Exchange

SECOND_NS = 1_000_000_000
START_NS = 1_700_000_000 * SECOND_NS
SESSION = "0b1d0f5e-8f7a-4c55-9d3f-3a4f6f1f2a10"
WORKPLACE = Workplace(run_id="run-1", harness="claude-code", harness_version="2.1.332", repository="github.com/a/b")
REMINDER = "<system-reminder>\nContents of CLAUDE.md\n</system-reminder>"
TOOLS = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("Bash", "Edit", "Agent")]


def text(content: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": content}


def call(id_: str, command: str = "", name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": id_, "name": name, "input": {"command": command} if command else arguments}


def result(id_: str, content: str, *, is_error: bool | None = False) -> dict[str, Any]:
    """A tool_result block."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return block if is_error is None else {**block, "is_error": is_error}


def user(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    """A user message."""
    return {"role": "user", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def assistant(*blocks: dict[str, Any] | str) -> dict[str, Any]:
    """A message of the model, as a client sends it back."""
    return {"role": "assistant", "content": [text(block) if isinstance(block, str) else block for block in blocks]}


def view(*messages: dict[str, Any], **fields: Any) -> View:
    """Of a request with these messages."""
    request = parse_request(json.dumps({"model": "m", "messages": list(messages), **fields}).encode())
    return View(request)


@dataclass
class Play:
    """One agent process, and the tracker that watches it."""

    tracker: Tracker = field(default_factory=Tracker)
    session: str | None = SESSION
    agent: str = ""
    request_class: str | None = "main"
    user_agent: str = "claude-cli/2.1.332 (external, cli)"
    now_s: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0
    exchanges: list[Exchange] = field(default_factory=list)
    workplace: Workplace = WORKPLACE

    def say(self, *messages: dict[str, Any]) -> "Play":
        """Adds to the history."""
        self.messages += messages
        return self

    def ask(self, *answer: dict[str, Any] | str, stop: str | None = None, **options: Any) -> Observed:
        """One request with the whole history, answered with these blocks; the client takes the answer into it."""
        blocks = [text(block) if isinstance(block, str) else block for block in answer]
        reason = stop or ("tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn")
        self.calls += 1
        body = {
            "type": "message",
            "id": f"msg_{self.agent}{self.calls:02}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": blocks,
            "stop_reason": reason,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        observed = self.exchange(json.dumps(body).encode(), **options)
        self.say({"role": "assistant", "content": blocks})
        return observed

    def fail(self, status: int | None = 529, *, end: End = End.COMPLETE) -> Observed:
        """The same request, answered with an error."""
        error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        return self.exchange(json.dumps(error).encode() if status else b"", status=status, end=end)

    def exchange(
        self,
        response_body: bytes,
        *,
        status: int | None = 200,
        end: End = End.COMPLETE,
        headers: dict[str, str] | None = None,
        changes: dict[str, Any] | None = None,
        path: str = "/v1/messages?beta=true",
        wait_s: int = 1,
        takes_s: int = 2,
    ) -> Observed:
        """One exchange: starts `wait_s` after the last one's end and takes `takes_s`."""
        document = {
            "model": "claude-sonnet-4-5",
            "max_tokens": 32_000,
            "system": [
                text(f"x-anthropic-billing-header: cc_version=2.1.332; cch={self.now_s:05x};"),
                text("You code."),
            ],
            "tools": TOOLS,
            "messages": copy.deepcopy(self.messages),
        } | (changes or {})
        start = START_NS + (self.now_s + wait_s) * SECOND_NS
        self.now_s += wait_s + takes_s
        exchange = Exchange(
            id=f"{len(self.exchanges):016x}",
            method="POST",
            scheme="https",
            host="api.anthropic.com",
            port=443,
            path=path,
            request_headers=tuple((self._headers() | (headers or {})).items()),
            response_headers=(("content-type", "application/json"),),
            request_body=json.dumps(document).encode(),
            response_body=response_body,
            status_code=status,
            start_time_ns=start,
            first_chunk_time_ns=start + SECOND_NS,
            end_time_ns=start + takes_s * SECOND_NS,
            end=end,
        )
        self.exchanges.append(exchange)
        return observe(self.tracker, exchange, self.workplace)

    def again(self, exchange: Exchange) -> Observed:
        """The very body of an earlier exchange sent once more, now."""
        length = exchange.end_time_ns - exchange.start_time_ns
        start = START_NS + (self.now_s + 1) * SECOND_NS
        self.now_s += 1 + length // SECOND_NS
        return observe(self.tracker, replace(exchange, start_time_ns=start, end_time_ns=start + length), self.workplace)

    def _headers(self) -> dict[str, str]:
        named = {
            "user-agent": self.user_agent,
            "x-api-key": "[credential:x-api-key]",
            "x-claude-code-session-id": self.session,
            "x-claude-code-request-class": self.request_class,
            "x-claude-code-agent-id": self.agent or None,
        }
        return {name: value for name, value in named.items() if value is not None}


def observe(tracker: Tracker, exchange: Exchange, workplace: Workplace = WORKPLACE) -> Observed:
    """What the recorder does with an exchange, up to the tracker."""
    endpoint = recognise(exchange.method, exchange.host, exchange.path)
    assert endpoint is not None
    request = parse_request(exchange.request_body)
    response = fold_response(
        exchange.response_body, "application/json", exchange.status_code, is_cut=exchange.end is not End.COMPLETE
    )
    return tracker.observe(exchange, request, response, identify(exchange, request, endpoint), workplace)


def spans(observed: Observed) -> list[SpanRecord]:
    """The spans of what was observed."""
    return encode(observed.inference, observed.observation, request_seed=observed.request_seed, price=None)


def said(observed: Observed) -> list[tuple[str, str]]:
    """Channel and text of what a person typed."""
    return [(human.channel.value, human.text) for human in observed.observation.human]


def outcomes(observed: Observed) -> list[tuple[str, str, str]]:
    """Id, outcome and reason of the tools that were told."""
    return [(tool.call.id, tool.outcome.value, tool.outcome_reason) for tool in observed.observation.tools]


def ends(observed: Observed) -> list[tuple[int, str]]:
    """Index and end of the turns that were told."""
    return [(turn.turn_index, turn.end) for turn in observed.observation.turns]


def place(observed: Observed) -> tuple[int, int, int]:
    """Turn, step and attempt."""
    where = observed.observation.place
    return where.turn_index, where.step_index, where.attempt
