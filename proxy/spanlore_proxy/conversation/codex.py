"""What Codex's requests say about themselves (0.171; older versions say less).

Every request carries session and thread in headers and the turn in a JSON text, `x-codex-turn-metadata`, as a header or
in the body's `client_metadata` (on a WebSocket only there). A sub-agent has a thread of its own within its parent's
session. The TUI asks for a session's title in a thread and session of its own, which the metadata calls `thread_title`
and nobody else names: it is no person's session. Compaction is a call of its own kind: marked in the metadata, by a
`compaction_trigger` item, by its path, or in older versions by the summariser's instruction as the last message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from spanlore.genai import jsontext
from spanlore.genai.inference import CallClass
from spanlore_proxy.wire.openai_responses.kinds import COMPACTIONS, kind_of
from spanlore_proxy.wire.request import WireRequest

_KINDS: Final = {
    "prewarm": CallClass.PROBE,
    "compaction": CallClass.COMPACTION,
    "compact": CallClass.COMPACTION,
    "memory_consolidation": CallClass.SIDE,
    "memories": CallClass.SIDE,
    "title": CallClass.TITLE,
}
"""`request_kind` of the turn metadata, or the `x-openai-subagent` header, where it is no turn of an agent."""
_TITLE: Final = "thread_title"
"""`thread_source` of the thread that makes a title."""
_SUMMARISE: Final = "You are performing a CONTEXT CHECKPOINT COMPACTION"
"""Start of the last message of a compaction that the client does itself."""
_SUMMARY: Final = "Another language model started to solve this problem"
"""Start of the message that brings its result into the next request."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What one request says."""

    session_id: str | None = None
    agent_key: str = ""
    agent_kind: str = ""
    call_class: CallClass = CallClass.MAIN
    prompt_id: str | None = None
    is_compacted: bool = False
    cwd: str = ""


def read_facts(headers: Iterable[tuple[str, str]], request: WireRequest | None, path: str) -> Facts:
    """The facts of a request; `headers` with lower-case names."""
    named = dict(headers)
    client = request.document.get("client_metadata") if request is not None else None
    client = client if isinstance(client, dict) else {}
    turn = _turn_metadata(client.get("x-codex-turn-metadata") or named.get("x-codex-turn-metadata"))

    def stated(*names: str) -> str:
        found = (source.get(name) for name in names for source in (client, named, turn))
        return next((value for value in found if isinstance(value, str) and value), "")

    thread, is_title = stated("thread_id", "thread-id"), turn.get("thread_source") == _TITLE
    is_agent = bool(
        stated("x-codex-parent-thread-id", "parent_thread_id")
        or stated("x-openai-subagent")
        or turn.get("thread_source") == "subagent"
    )
    return Facts(
        session_id=None if is_title else stated("session_id", "session-id") or thread or _cache_key(request),
        agent_key=thread if is_agent else "",
        agent_kind=(_own_name(turn) or stated("subagent_kind") or stated("x-openai-subagent")) if is_agent else "",
        call_class=_call_class(request, path, turn, stated("x-openai-subagent"), is_agent=is_agent),
        prompt_id=stated("turn_id") or None,
        is_compacted=request is not None and any(map(_is_summary, request.raw_messages)),
        cwd=_workspace(turn),
    )


def _call_class(
    request: WireRequest | None, path: str, turn: dict[str, Any], subagent: str, *, is_agent: bool
) -> CallClass:
    kind = turn.get("request_kind")
    for stated in (kind, subagent):
        if isinstance(stated, str) and stated in _KINDS:
            return _KINDS[stated]
    if turn.get("thread_source") == _TITLE:
        return CallClass.TITLE
    if "/responses/compact" in path:
        return CallClass.COMPACTION
    if request is None:
        return CallClass.UNKNOWN
    if request.document.get("generate") is False:
        return CallClass.PROBE
    if request.raw_messages and _asks_for_summary(request.raw_messages[-1]):
        return CallClass.COMPACTION
    return CallClass.SUBAGENT if is_agent else CallClass.MAIN


def _is_summary(raw: dict[str, Any]) -> bool:
    """A summary in place of what went before, sealed or in words."""
    return kind_of(raw) in COMPACTIONS or (raw.get("role") == "user" and _last_text(raw).startswith(_SUMMARY))


def _asks_for_summary(raw: dict[str, Any]) -> bool:
    if kind_of(raw) == "compaction_trigger":
        return True
    return raw.get("role") == "user" and _last_text(raw).startswith(_SUMMARISE)


def _last_text(raw: dict[str, Any]) -> str:
    content = raw.get("content")
    block = content[-1] if isinstance(content, list) and content else None
    text = block.get("text") if isinstance(block, dict) else content
    return text[:200].lstrip() if isinstance(text, str) else ""


def _turn_metadata(text: Any) -> dict[str, Any]:
    try:
        value = jsontext.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _cache_key(request: WireRequest | None) -> str | None:
    value = request.document.get("prompt_cache_key") if request is not None else None
    return value if isinstance(value, str) and value else None


def _own_name(turn: dict[str, Any]) -> str:
    """The last part of the agent's path (`/PARENT/look`), which its parent named it by."""
    path = turn.get("agent_name")
    return path.rpartition("/")[2] if isinstance(path, str) else ""


def _workspace(turn: dict[str, Any]) -> str:
    """The only workspace, where there is one."""
    workspaces = turn.get("workspaces")
    paths = list(workspaces) if isinstance(workspaces, dict) else []
    return paths[0] if len(paths) == 1 and isinstance(paths[0], str) else ""
