"""The scripted model: it knows the right command when, and only when, the request says it; and it obeys, or not.

Its policy is stated: obeys what it is told with probability p, by a fixed hash of session and lesson. Nothing here says
anything about what a real model does with a memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from spanlore_proxy.closed_loop.lessons import Lesson
from spanlore_proxy.demo.model_request import ReceivedRequest, block_text, content_blocks
from spanlore_proxy.demo.replies import Reply, Say, UseTool


@dataclass(frozen=True, slots=True)
class Policy:
    """How a scripted model treats what it is told."""

    name: str
    obedience: float
    """Probability that it does what the request says."""

    def obeys(self, session_id: str, lesson: Lesson) -> bool:
        """Always the same for the same two."""
        digest = hashlib.blake2b(f"{session_id}\0{lesson.area}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self.obedience * 2**64


POLICIES: Final = (Policy("obeys", 1.0), Policy("obeys half of the time", 0.5), Policy("ignores", 0.0))


class Model:
    """One script for all sessions of a loop: which policy and lesson a request is about, its session says."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[Policy, Lesson]] = {}

    def expect(self, session_id: str, policy: Policy, lesson: Lesson) -> None:
        """A session that is about to begin."""
        self._sessions[session_id] = (policy, lesson)

    def answer(self, request: ReceivedRequest) -> Reply | None:
        """The reply; None for a request of no session of ours."""
        known = self._sessions.get(request.session_id)
        if known is None:
            return None
        policy, lesson = known
        tried = _commands(request)
        if lesson.right in tried:
            return Reply((Say("That worked."),))
        if _is_corrected(request, lesson):
            return _run(lesson.right)
        knows = policy.obeys(request.session_id, lesson) and _is_told(request, lesson.right)
        if lesson.is_correction:
            return Reply((Say("Done."),)) if tried else _run(lesson.right if knows else lesson.wrong)
        if knows:
            return _run(lesson.right)
        ways = (lesson.wrong, lesson.look, lesson.right)
        return _run(next(way for way in ways if way not in tried))


def _is_told(request: ReceivedRequest, command: str) -> bool:
    """Whether the request says it: in the system prompt, or beside what the client's own tools printed."""
    said = [*request.system_texts]
    for message in request.messages:
        if message.get("role") == "user":
            said += (block_text(block) for block in content_blocks(message) if block.get("type") == "text")
    return any(command in text for text in said)


def _is_corrected(request: ReceivedRequest, lesson: Lesson) -> bool:
    return lesson.correction in request.newest_prompt


def _commands(request: ReceivedRequest) -> list[str]:
    """What the model ran since the newest prompt."""
    ids = {block.get("tool_use_id") for block in request.results_since_prompt}
    return [
        str((block.get("input") or {}).get("command", ""))
        for block in _uses(request.messages)
        if block.get("id") in ids
    ]


def _uses(messages: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    return (block for message in messages for block in content_blocks(message) if block.get("type") == "tool_use")


def _run(command: str) -> Reply:
    return Reply((UseTool("Bash", {"command": command, "description": "Run a command"}),))
