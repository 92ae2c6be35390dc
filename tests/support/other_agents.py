"""Sessions of agents other than Claude Code, played at a tracker: the dialects' own request bodies and answers, with
the headers by which each agent is known (shared research, wire behaviour of real agents)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.agent import at_workplace, identify
from spanlore_proxy.conversation.tracker import Observed, Tracker
from spanlore_proxy.wire.codecs import fold_exchange, read_request
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End, Exchange

SECOND_NS: Final = 1_000_000_000
GEMINI_HOST: Final = "generativelanguage.googleapis.com"
AGENTS: Final[Mapping[str, str]] = {
    "codex": "codex_exec/0.171.0 (Linux)",
    "opencode": "opencode/1.18.33",
    "gemini-cli": "GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64)",
    "qwen-code": "QwenCode/0.24.4 (linux; x64)",
    "pi": "pi/0.73.1",
}
"""User agents; those that are not here have their SDK's, and the process tells."""


@dataclass
class OtherAgent:
    """One process, and the tracker that watches it."""

    harness: str
    tracker: Tracker = field(default_factory=Tracker)
    headers: dict[str, str] = field(default_factory=dict)
    """Sent with each request."""
    run_id: str = "run-0123456789ab"
    cwd: str = "/w/b"
    now_ns: int = 1_700_000_000 * SECOND_NS

    def chat(self, messages: list[dict[str, Any]], *answer: Any, **changes: Any) -> Observed:
        """Chat Completions; answers are texts and (id, name, arguments)."""
        message: dict[str, Any] = {"role": "assistant", "content": _text(answer)}
        if calls := [_chat_call(*one) for one in answer if not isinstance(one, str)]:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        body = {"id": f"chatcmpl-{self.now_ns}", "object": "chat.completion", "model": "m", "choices": [choice]}
        return self.exchange("/v1/chat/completions", {"model": "m", "messages": messages, **changes}, body)

    def responses(self, items: list[dict[str, Any]], *output: dict[str, Any], **changes: Any) -> Observed:
        """The Responses API; `output` are its items."""
        body = {"id": f"resp_{self.now_ns}", "object": "response", "status": "completed", "model": "m"}
        return self.exchange("/v1/responses", {"model": "m", "input": items, **changes}, {**body, "output": output})

    def gemini(self, contents: list[dict[str, Any]], *parts: dict[str, Any], **changes: Any) -> Observed:
        """generateContent; `parts` are the answer's."""
        body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
        path = "/v1beta/models/gemini-2.5-pro:generateContent"
        return self.exchange(path, {"contents": contents, **changes}, body, GEMINI_HOST)

    def messages(self, messages: list[dict[str, Any]], *blocks: dict[str, Any], **changes: Any) -> Observed:
        """Anthropic's Messages; `blocks` are the answer's."""
        stop = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        body = {"id": f"msg_{self.now_ns}", "type": "message", "role": "assistant", "model": "m", "stop_reason": stop}
        document = {"model": "m", "max_tokens": 9, "messages": messages, **changes}
        return self.exchange("/v1/messages", document, {**body, "content": blocks}, "api.anthropic.com")

    def exchange(
        self, path: str, document: dict[str, Any], answer: dict[str, Any], host: str = "api.openai.com"
    ) -> Observed:
        """One exchange of two seconds, a second after the last one."""
        start_ns, self.now_ns = self.now_ns + SECOND_NS, self.now_ns + 3 * SECOND_NS
        endpoint = recognise("POST", host, path)
        assert endpoint is not None
        headers = {"user-agent": AGENTS.get(self.harness, "OpenAI/Python 2.20.0"), **self.headers}
        exchange = Exchange(
            "0" * 16, "POST", "https", host, 443, path, tuple(headers.items()), (("content-type", "application/json"),),
            json.dumps(document).encode(), json.dumps(answer).encode(), 200, start_ns, self.now_ns, self.now_ns,
            End.COMPLETE,
        )  # fmt: skip
        request = read_request(exchange.request_body, endpoint)
        workplace = Workplace(run_id=self.run_id, harness=self.harness, repository="github.com/a/b", cwd=self.cwd)
        identity = at_workplace(identify(exchange, request, endpoint), self.harness)
        response = fold_exchange(exchange, endpoint.dialect, request)
        return self.tracker.observe(exchange, request, response, identity, workplace)


def _text(answer: tuple[Any, ...]) -> str | None:
    return "".join(one for one in answer if isinstance(one, str)) or None


def _chat_call(id_: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
