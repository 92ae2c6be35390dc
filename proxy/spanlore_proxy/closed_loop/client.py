"""A session of the loop as an agent plays it: Claude Code's wire shape, commands answered by the made-up repository."""

from __future__ import annotations

import http.client
import uuid
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from spanlore_proxy.closed_loop.lessons import Lesson
from spanlore_proxy.demo.agent import Conversation, StreamedMessage

MAX_STEPS: Final = 12
TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Way:
    """How an arm's requests go."""

    url: str
    """Up to and with `/v1/messages`."""
    is_bypassed: bool = False
    """Each request asks to be left alone."""
    instructions: str = ""
    """What stands in CLAUDE.md; '' for none."""


@dataclass(slots=True)
class Outcome:
    """What one session cost."""

    failures: int = 0
    corrections: int = 0
    looks: int = 0
    requests: int = 0
    sent_bytes: int = 0


class LoopError(RuntimeError):
    """A session could not be played. The message says what was answered."""


def play(session_id: str, lesson: Lesson, way: Way) -> Outcome:
    """One session: the task, and the user's correction where one is due.

    Raises:
        LoopError: no answer, or an error.
    """
    outcome = Outcome()
    conversation = Conversation(session_id, "claude-sonnet-5-5")
    _turn(conversation, _opening(lesson.task, way.instructions), lesson, way, outcome)
    if lesson.is_correction and outcome.corrections:
        _turn(conversation, [_text(lesson.correction)], lesson, way, outcome)
    return outcome


def _opening(task: str, instructions: str) -> list[dict[str, Any]]:
    if not instructions:
        return [_text(task)]
    told = f"Contents of /home/dev/repository/CLAUDE.md (project instructions, checked in):\n\n{instructions}"
    return [_text(f"<system-reminder>\n{told}\n</system-reminder>"), _text(task)]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _turn(conversation: Conversation, blocks: list[dict[str, Any]], lesson: Lesson, way: Way, outcome: Outcome) -> None:
    conversation.prompt_id = str(uuid.uuid4())
    conversation.messages.append({"role": "user", "content": blocks})
    for _ in range(MAX_STEPS):
        answer = _infer(conversation, way, outcome)
        conversation.previous_message_id = answer.id
        conversation.messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block["type"] == "tool_use"]
        if not calls:
            return
        results = [_execute(call, lesson, outcome) for call in calls]
        conversation.messages.append({"role": "user", "content": results})
    raise LoopError(f"the model still asks for tools after {MAX_STEPS} steps")


def _execute(call: dict[str, Any], lesson: Lesson, outcome: Outcome) -> dict[str, Any]:
    command = str(call["input"].get("command", ""))
    code, text = lesson.run(command)
    outcome.failures += code != 0
    outcome.looks += command == lesson.look
    outcome.corrections += lesson.is_correction and command == lesson.wrong
    return {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": text if code == 0 else f"Exit code {code}\n{text}",
        "is_error": code != 0,
    }


def _infer(conversation: Conversation, way: Way, outcome: Outcome) -> StreamedMessage:
    body = conversation.body()
    outcome.requests += 1
    outcome.sent_bytes += len(body)
    parts = urlsplit(way.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
    headers = {**conversation.headers(), **({"x-spanlore-bypass": "1"} if way.is_bypassed else {})}
    try:
        connection.request("POST", parts.path, body, headers)
        response = connection.getresponse()
        data = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise LoopError(f"no answer at {parts.netloc}: {error}") from error
    finally:
        connection.close()
    message = StreamedMessage()
    for line in data.splitlines():
        if line.startswith(b"data:"):
            message.take(orjson.loads(line[5:]))
    if response.status != 200 or not message.is_complete:
        raise LoopError(f"HTTP {response.status}: {data[:300]!r}")
    return message
