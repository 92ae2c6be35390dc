"""One question to the model, through the Anthropic SDK, at any Anthropic-compatible address.

The call goes straight there: no proxy of the environment is used, so the judge's own traffic is never captured, mined
or given memories. It is made once; whether to ask again is for the caller's purse to say. Answers are bounded in size
and in time, whatever the server does.

Local servers that only look like Anthropic's often have models without tools, and leave out what they do not count. A
refusal of the tool is answered once by asking for plain JSON, from then on at once; a verdict written as text counts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any, Final

import anthropic
import orjson

from spanlore.genai.inference import Dialect, Inference, Usage
from spanlore.genai.jsontext import parsed
from spanlore.spans.price import price_of
from spanlore_extractor.judge.answer import MAX_ANSWER_BYTES, MAX_OUTPUT_TOKENS, Answer, Cost, UnavailableError
from spanlore_extractor.judge.verdict import WorthlessAnswerError
from spanlore_extractor.judge.verdict import tool as verdict_tool

_ABOUT_TOOLS: Final = re.compile(r"\btools?\b|tool_choice|function call", re.I)
_PLAIN: Final = """

There is no tool here. Answer with one JSON object and nothing else, of this schema:
"""
_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?```\s*\Z", re.S)


class Model:
    """The model at one address."""

    def __init__(self, api_key: str, base_url: str, model: str, timeout_s: float) -> None:
        self.name = model
        self._timeout_s = timeout_s
        self._has_tools = True
        self._client = anthropic.Anthropic(
            api_key=api_key,
            base_url=base_url,
            timeout=timeout_s,
            max_retries=0,
            http_client=anthropic.DefaultHttpxClient(trust_env=False),
        )

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()

    def ask(
        self,
        prompt: str,
        question: str,
        added: str = "",
        tool: dict[str, Any] | None = None,
        max_tokens: int = MAX_OUTPUT_TOKENS,
    ) -> Answer:
        """Asks once. The prompt comes first and never changes, so that the API can cache it; `added` follows it. The
        answer is one call of `tool`, the verdict's unless it is another.

        Raises:
            UnavailableError: no answer, or one that asks for a pause.
            WorthlessAnswerError: the API refuses this question.
        """
        try:
            wanted = tool or verdict_tool()
            body = self._answered(prompt, question, added, wanted, max_tokens)
        except (anthropic.BadRequestError, anthropic.RequestTooLargeError, anthropic.UnprocessableEntityError) as error:
            raise WorthlessAnswerError(f"the API refuses the question: {_told(error)}") from None
        except anthropic.APIStatusError as error:
            raise UnavailableError(_told(error), _retry_after_s(error)) from None
        except (anthropic.AnthropicError, OSError) as error:
            raise UnavailableError(f"{type(error).__name__}: {str(error)[:200]}") from None
        return _answer(body, self.name, wanted["name"])

    def _answered(self, prompt: str, question: str, added: str, tool: dict[str, Any], max_tokens: int) -> bytes:
        try:
            return self._send(prompt, question, added, tool, max_tokens)
        except anthropic.APIStatusError as error:
            is_refused = error.status_code in (400, 404, 422, 501) and _ABOUT_TOOLS.search(str(error.body or error))
            if not self._has_tools or not is_refused:
                raise
            self._has_tools = False
        return self._send(prompt, question, added, tool, max_tokens)

    def _send(self, prompt: str, question: str, added: str, tool: dict[str, Any], max_tokens: int) -> bytes:
        end_s = time.monotonic() + self._timeout_s
        more: dict[str, Any] = {}
        if self._has_tools:
            more = {"tools": [tool], "tool_choice": {"type": "tool", "name": tool["name"]}}
        else:
            prompt += _PLAIN + orjson.dumps(tool["input_schema"]).decode()
        with self._client.messages.with_streaming_response.create(
            model=self.name,
            max_tokens=max_tokens,
            system=[_cached(text) for text in (prompt, added) if text],
            messages=[{"role": "user", "content": question}],
            **more,
        ) as response:
            return _read(response.iter_bytes(), end_s)


def _cached(text: str) -> anthropic.types.TextBlockParam:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


def _read(chunks: Iterator[bytes], end_s: float) -> bytes:
    body = bytearray()
    while True:
        try:
            chunk = next(chunks, None)
        except Exception as error:
            # The SDK hands its HTTP library's own errors through while a body is read, and does not export them.
            raise UnavailableError(f"the answer broke off: {type(error).__name__}") from None
        if chunk is None:
            return bytes(body)
        body += chunk
        if len(body) > MAX_ANSWER_BYTES:
            raise WorthlessAnswerError("the answer is too large")
        if time.monotonic() > end_s:
            raise UnavailableError("the answer takes too long")


def _answer(body: bytes, model: str, tool_name: str) -> Answer:
    try:
        message: Any = orjson.loads(body)
        content, stop = message["content"], message.get("stop_reason")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        cost = _cost(message.get("usage") or {}, model)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError):
        return Answer(Cost(model, 0, 0, 0, 0, None), fault="the answer is not a message")
    if stop == "refusal":
        return Answer(cost, fault="the model refuses")
    if stop == "max_tokens":
        return Answer(cost, fault="the answer is cut off")
    found = [parsed(part.get("input")) for part in parts if _is(part, "tool_use") and part.get("name") == tool_name]
    if not found:
        found = [data for part in parts if _is(part, "text") and isinstance(data := _written(part), dict)]
    if len(found) != 1:
        return Answer(cost, fault="the answer is not one call of the tool")
    return Answer(cost, data=found[0])


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, dict) and part.get("type") == kind


def _written(part: dict[str, Any]) -> Any:
    """The JSON that a text is, in a fence or not; None when it is none."""
    text = str(part.get("text") or "")
    fenced = _FENCE.match(text)
    found = parsed(fenced[1] if fenced else text.strip())
    return None if isinstance(found, str) else found


def _cost(usage: dict[str, Any], model: str) -> Cost:
    fresh, read, write, out = (
        max(0, int(usage.get(name) or 0))
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    counts = Usage(fresh + read + write, out, read, write)
    priced = price_of(Inference(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", model, 0, 0, usage=counts))
    return Cost(model, fresh + read + write, out, read, write, float(priced.total_usd) if priced else None)


def _told(error: anthropic.APIStatusError) -> str:
    """The status and the error's type: the message of an API may quote what was sent."""
    body = error.body if isinstance(error.body, dict) else {}
    inner = body.get("error")
    kind = inner.get("type") if isinstance(inner, dict) else ""
    return f"status {error.status_code} {str(kind or '')[:60]}".strip()


def _retry_after_s(error: anthropic.APIStatusError) -> float | None:
    try:
        return float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
