"""Which API a request to the scripted model server speaks, and how an answer is written in it. The path decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from spanlore_proxy.demo import gemini_replies, openai_chat_replies, openai_responses_replies
from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.replies import ReplyBody


@dataclass(frozen=True, slots=True)
class Speech:
    """One API."""

    path: re.Pattern[str]
    history_key: str
    """The member that every request has."""
    as_json: Callable[[ReplyBody, dict[str, Any]], bytes]
    """The answer to a request that asks for no stream; the request's document comes second."""
    events: Callable[[ReplyBody, dict[str, Any]], Iterator[bytes]]
    """The server-sent events of a stream."""

    def is_streamed(self, received: ReceivedRequest) -> bool:
        """Whether the request asks for a stream: in its body, Gemini in its path."""
        return bool((received.document or {}).get("stream")) or ":stream" in received.path

    def model(self, received: ReceivedRequest) -> str:
        """The model asked for."""
        found = re.search(r"/models/([^/:?]+):", received.path)
        return found[1] if found else str((received.document or {}).get("model", ""))


ANTHROPIC = Speech(
    re.compile(r"/v1/messages$"),
    "messages",
    lambda body, _: body.as_json(),
    lambda body, _: body.events(),
)
RESPONSES = Speech(
    re.compile(r"/responses$"), "input", openai_responses_replies.as_json, openai_responses_replies.events
)
SPEECHES = (
    ANTHROPIC,
    Speech(re.compile(r"/chat/completions$"), "messages", openai_chat_replies.as_json, openai_chat_replies.events),
    RESPONSES,
    Speech(re.compile(r":(?:streamG|g)enerateContent$"), "contents", gemini_replies.as_json, gemini_replies.events),
)


def speech_of(received: ReceivedRequest) -> Speech | None:
    """The API that this request is an inference of; None for everything else."""
    if received.method != "POST":
        return None
    path = received.path.partition("?")[0]
    return next((speech for speech in SPEECHES if speech.path.search(path)), None)
