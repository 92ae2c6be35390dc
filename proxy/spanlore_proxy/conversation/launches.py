"""Which tool call started a sub-agent?

The call's prompt is the sub-agent's first message, word for word, or stands in it within a tag (Gemini CLI). Where it
does not (a harness that rewrites prompts), the client's agent id in the tool's result tells, else the only call of the
right kind that has no agent yet.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from spanlore.genai.messages import Message, Role, Text, ToolCall, ToolResult
from spanlore.spans.ids import tool_span_id
from spanlore_proxy.conversation.state import ConversationState, Launch

LAUNCHERS: Final = frozenset({"Agent", "Task", "task", "spawn_agent", "invoke_agent", "agent"})
"""Tools that start sub-agents, as the agents name them."""
MAX_LAUNCHES: Final = 64
"""Kept for one conversation, the newest."""
_TASK = re.compile(r"<(objective|question|task)>\n(.*?)\n</\1>", re.S)
"""Where Gemini CLI's own agents (0.61) get their prompt."""
_KINDS: Final = ("subagent_type", "agent_name", "task_name")
"""Arguments that say what agent is meant; Codex's `task_name` becomes the agent's own name."""
_AGENT_ID = re.compile(r"\bagentId: (\w+)|\"agent_id\": ?\"([\w-]+)\"")


def launches_in(calls: Iterable[ToolCall], trace_id: bytes) -> tuple[Launch, ...]:
    """The launches among a response's tool calls."""
    out = []
    for call in calls:
        if call.name not in LAUNCHERS or not isinstance(call.arguments, dict):
            continue
        prompt = call.arguments.get("prompt") or call.arguments.get("message")
        kind = next((call.arguments[name] for name in _KINDS if call.arguments.get(name)), "")
        if isinstance(prompt, str):
            out.append(Launch(call.id, prompt_hash(prompt), kind if isinstance(kind, str) else "", trace_id))
    return tuple(out)


def with_agent_id(launch: Launch, result: ToolResult) -> Launch:
    """The launch, with the agent's id if this result tells it."""
    found = _AGENT_ID.search(result.response) if result.id == launch.tool_call_id else None
    if found is None or launch.agent_id:
        return launch
    return Launch(launch.tool_call_id, launch.prompt_hash, launch.kind, launch.trace_id, found[1] or found[2])


def find_launch(
    messages: Iterable[Message],
    agent_key: str,
    agent_kind: str,
    session: Iterable[ConversationState],
    *,
    may_guess: bool,
) -> tuple[ConversationState, Launch] | None:
    """The launch of the conversation that begins with these messages, and the conversation it was made in.

    `may_guess`: the conversation is known to be a sub-agent's, so that a launch may be taken without its prompt.
    """
    states = tuple(session)
    taken = {state.parent_tool_span_id for state in states if state.parent_tool_span_id}
    free = [
        (state, launch)
        for state in states
        for launch in reversed(state.launches)
        if tool_span_id(state.conversation, launch.tool_call_id) not in taken
    ]
    if not free:
        return None
    said = {prompt_hash(text) for message in messages for text in _prompts(message)}
    for state, launch in free:
        if launch.prompt_hash in said or (agent_key and launch.agent_id == agent_key):
            return state, launch
    if not may_guess:
        return None
    of_kind = [(state, launch) for state, launch in free if not agent_kind or launch.kind in ("", agent_kind)]
    return of_kind[0] if len(of_kind) == 1 else None


def prompt_hash(prompt: str) -> str:
    """16 hex digits of a prompt, white space at its ends aside."""
    return hashlib.blake2b(prompt.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()


def _prompts(message: Message) -> Iterable[str]:
    if message.role is Role.USER:
        for part in message.parts:
            if isinstance(part, Text):
                yield part.content
                yield from (found[2] for found in _TASK.finditer(part.content))
