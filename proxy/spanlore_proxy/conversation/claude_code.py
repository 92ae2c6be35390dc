"""What Claude Code's requests say about themselves (2.1.332; 2.1.197 and base-URL mode, which send fewer headers).

With its first-party host it labels every call in headers; with another base URL, and in older versions, only the
session header is left, and the class has to be read from the body: the first system block's `cc_is_subagent`, the
JSON schema of a title call, the summariser's instruction, the one-token quota probe.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanlore.genai.inference import CallClass
from spanlore_proxy.wire.request import WireRequest

BILLING_PREFIX: Final = "x-anthropic-billing-header"
"""Start of the first system block, which changes with every call: never part of what a prompt *says*."""
_OLD_USER_ID = re.compile(r"_session_([0-9a-f-]{36})\Z")
_SUMMARISE: Final = (
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary",
)
_SUBAGENT_MARKS: Final = (
    "You are an agent for Claude Code",
    "specialist for Claude Code, Anthropic's official CLI",
    "Agent threads always have their cwd reset",
)
"""Texts that stand only in the system prompts of sub-agents."""
_CLASSES: Final = {
    "main": CallClass.MAIN,
    "subagent": CallClass.SUBAGENT,
    "compaction": CallClass.COMPACTION,
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What one request says."""

    session_id: str | None
    agent_key: str
    agent_kind: str
    call_class: CallClass
    prompt_id: str | None
    previous_message_id: str | None
    has_checksum: bool
    """`cch=` in the first system block."""
    is_compacted: bool


def read_facts(headers: Iterable[tuple[str, str]], request: WireRequest | None, system: tuple[str, ...]) -> Facts:
    """The facts of a request; `headers` with lower-case names, `system` the system prompt's text blocks."""
    named = dict(headers)
    billing = system[0] if system and system[0].startswith(BILLING_PREFIX) else ""
    agent_key = named.get("x-claude-code-agent-id", "")
    return Facts(
        session_id=named.get("x-claude-code-session-id") or _session_in_body(request),
        agent_key=agent_key,
        agent_kind=named.get("x-claude-code-agent-type", ""),
        call_class=_call_class(named, request, system, billing),
        prompt_id=named.get("x-claude-code-prompt-id") or None,
        previous_message_id=_previous_message_id(request),
        has_checksum="cch=" in billing,
        is_compacted="x-claude-code-context-compacted" in named,
    )


def _call_class(named: dict[str, str], request: WireRequest | None, system: tuple[str, ...], billing: str) -> CallClass:
    stated = named.get("x-claude-code-request-class", "")
    if stated in _CLASSES:
        return _CLASSES[stated]
    if request is None:
        return CallClass.UNKNOWN
    if stated:
        return CallClass.TITLE if _is_title(request) else CallClass.SIDE
    if "x-claude-code-compaction" in named or _is_summary(request):
        return CallClass.COMPACTION
    if "x-claude-code-agent-id" in named or "cc_is_subagent=true" in billing or _reads_as_subagent(system):
        return CallClass.SUBAGENT
    if not request.raw_tools:
        return _without_tools(request)
    return CallClass.MAIN


def _without_tools(request: WireRequest) -> CallClass:
    if _is_title(request):
        return CallClass.TITLE
    if request.parameters.max_tokens == 1:
        return CallClass.PROBE
    # `claude --tools ""` has a main loop without tools; it is told from a side call by its size of answer.
    return CallClass.MAIN if (request.parameters.max_tokens or 0) >= 8_000 else CallClass.SIDE


def _is_title(request: WireRequest) -> bool:
    """The title call asks for a JSON object with a title."""
    config = request.document.get("output_config")
    form = config.get("format") if isinstance(config, dict) else request.document.get("output_format")
    schema = form.get("schema") if isinstance(form, dict) else None
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return not request.raw_tools and isinstance(properties, dict) and "title" in properties


def _is_summary(request: WireRequest) -> bool:
    """The last text of the last user message is the summariser's instruction."""
    for raw in reversed(request.raw_messages):
        if raw.get("role") == "user":
            return _last_text(raw.get("content")).lstrip().startswith(_SUMMARISE)
    return False


def _last_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    block = content[-1] if isinstance(content, list) and content else None
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else ""


def _reads_as_subagent(system: tuple[str, ...]) -> bool:
    return any(mark in text for text in system[1:] for mark in _SUBAGENT_MARKS)


def _session_in_body(request: WireRequest | None) -> str | None:
    """`metadata.user_id`: a JSON string in newer versions, `user_…_session_<uuid>` in older ones."""
    metadata = request.document.get("metadata") if request is not None else None
    user_id = metadata.get("user_id") if isinstance(metadata, dict) else None
    if not isinstance(user_id, str):
        return None
    if found := _OLD_USER_ID.search(user_id):
        return found[1]
    try:
        value = orjson.loads(user_id)
    except orjson.JSONDecodeError:
        return None
    session = value.get("session_id") if isinstance(value, dict) else None
    return session if isinstance(session, str) and session else None


def _previous_message_id(request: WireRequest | None) -> str | None:
    diagnostics = request.document.get("diagnostics") if request is not None else None
    value = diagnostics.get("previous_message_id") if isinstance(diagnostics, dict) else None
    return value if isinstance(value, str) and value else None
