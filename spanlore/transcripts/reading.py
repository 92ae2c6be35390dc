"""Which agent wrote a session file, told by its content alone, and its transcript."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.transcripts import (
    claude_code,
    codex,
    copilot_cli,
    gemini_cli,
    mini_swe_agent,
    opencode,
    pi,
    swe_agent,
)
from spanlore.transcripts.events import Transcript
from spanlore.transcripts.loose import Lines, mapping, string

MAX_PROBED_LINES: Final = 200
_CODEX_TYPES: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
_CLAUDE_TYPES: Final = frozenset({"user", "assistant", "summary", "queue-operation", "file-history-snapshot"})
LINES: Final[Mapping[str, Callable[[bytes], Transcript]]] = {
    claude_code.HARNESS: claude_code.read,
    codex.HARNESS: codex.read,
    pi.HARNESS: pi.read,
    copilot_cli.HARNESS: copilot_cli.read,
    gemini_cli.HARNESS: gemini_cli.read_lines,
}
DOCUMENTS: Final[Mapping[str, Callable[[dict[str, Any]], Transcript]]] = {
    opencode.HARNESS: opencode.read,
    gemini_cli.HARNESS: gemini_cli.read_document,
    mini_swe_agent.HARNESS: mini_swe_agent.read,
    swe_agent.HARNESS: swe_agent.read,
}
HARNESSES: Final = tuple(dict.fromkeys((*LINES, *DOCUMENTS)))


class UnknownFormatError(ValueError):
    """The file is no session of an agent that is known here."""


def read_transcript(data: bytes) -> Transcript:
    """The transcript of a session file. Malformed lines are counted, never raised.

    Raises:
        UnknownFormatError: no known agent writes such a file.
    """
    document = _document(data)
    if document is not None:
        harness = harness_of_document(document)
        if harness in DOCUMENTS:
            return DOCUMENTS[harness](document)
    harness = harness_of_lines(data)
    if harness in LINES:
        return LINES[harness](data)
    raise UnknownFormatError(
        "no session of Claude Code, Codex, OpenCode, Gemini CLI, pi, mini-swe-agent, SWE-agent or Copilot CLI"
    )


def harness_of_document(document: dict[str, Any]) -> str:
    """Which agent wrote a JSON document; '' when none is known."""
    messages = document.get("messages")
    first = mapping(messages[0]) if isinstance(messages, list) and messages else {}
    if isinstance(document.get("trajectory"), list):
        return swe_agent.HARNESS
    if "parts" in first and "info" in first:
        return opencode.HARNESS
    if "role" in first:
        return mini_swe_agent.HARNESS
    if "type" in first and ("sessionId" in document or "projectHash" in document):
        return gemini_cli.HARNESS
    if isinstance(messages, list) and not messages:
        return opencode.HARNESS if "info" in document else gemini_cli.HARNESS if "sessionId" in document else ""
    return ""


def harness_of_lines(data: bytes) -> str:
    """Which agent wrote JSONL; '' when none is known."""
    for count, (_, entry) in enumerate(Lines(data)):
        if count >= MAX_PROBED_LINES:
            break
        if harness := _harness_of(entry):
            return harness
    return ""


def _harness_of(entry: dict[str, Any]) -> str:
    kind = string(entry.get("type"))
    if kind in _CODEX_TYPES and "payload" in entry:
        return codex.HARNESS
    if "data" in entry and "." in kind:
        return copilot_cli.HARNESS
    if kind == "session" and ("cwd" in entry or "version" in entry):
        return pi.HARNESS
    if kind == "message" and "role" in mapping(entry.get("message")):
        return pi.HARNESS
    if kind in _CLAUDE_TYPES and ("sessionId" in entry or "parentUuid" in entry or "messageId" in entry):
        return claude_code.HARNESS
    if kind in ("user", "assistant") and "role" in mapping(entry.get("message")):
        return claude_code.HARNESS
    if "projectHash" in entry or "$set" in entry or (kind in ("user", "gemini") and "content" in entry):
        return gemini_cli.HARNESS
    if "instructions" in entry and "timestamp" in entry:
        return codex.HARNESS
    return ""


def _document(data: bytes) -> dict[str, Any] | None:
    """The file as one JSON object; None when it is none, or is one line of JSONL."""
    if not data.lstrip().startswith(b"{"):
        return None
    try:
        value = jsontext.loads(data)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
