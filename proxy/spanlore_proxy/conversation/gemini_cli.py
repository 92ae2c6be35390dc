"""What Gemini requests say about their purpose, above all Gemini CLI's (0.61, and older versions' wording).

With an API key the wire names no session, turn or agent: a conversation is told by its run and its messages alone. With
a Google login, Code Assist's envelope carries `request.session_id` and `user_prompt_id`. The purpose is told by what
is on offer: a main call has functions, a sub-agent's among them `complete_task`; the router, which chooses a model
before each prompt, the next-speaker check and the loop check ask for JSON and have none; nor have web searches and
summaries of long outputs, which Gemini CLI makes as calls of their own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore_proxy.wire.gemini.fields import field, object_field, string_field
from spanlore_proxy.wire.gemini.request import generate_request
from spanlore_proxy.wire.request import WireRequest

_SUMMARISERS: Final = (
    "distilling chat history into a structured XML",
    "summarizes internal chat history into a given structure",
)
"""In the system prompts of calls that compress the history, newer and older."""
_SCHEMAS: Final = ("responseJsonSchema", "responseSchema")
_SUBAGENT_TOOL: Final = "complete_task"
_CWD = re.compile(
    r"(?:I'm currently working in the directory:|\*\*Workspace Directories:\*\*\s*\n\s*-|"
    r"I'm currently working in the following directories:\s*\n\s*-) *(?P<path>[^\n]{1,1024})"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What Code Assist's envelope says; empty with an API key."""

    session_id: str | None = None
    prompt_id: str | None = None


def read_envelope(request: WireRequest) -> Envelope:
    """Session and prompt of a request that Gemini CLI makes with a Google login."""
    document = request.document
    inner = generate_request(document)
    if inner is document:
        return Envelope()
    session = string_field(inner, "sessionId")
    return Envelope(session or None, string_field(document, "userPromptId") or None)


def call_class(request: WireRequest, system: tuple[str, ...], harness: str) -> CallClass | None:
    """What a Gemini request is for; None where only the generic rules can tell."""
    names = {
        string_field(tool.get("declaration"), "name")
        for tool in request.raw_tools
        if isinstance(tool, dict) and tool.get("type") == "function"
    }
    if names:
        return CallClass.SUBAGENT if _SUBAGENT_TOOL in names and harness == "gemini-cli" else CallClass.MAIN
    if any(mark in text[:2000] for text in system for mark in _SUMMARISERS):
        return CallClass.COMPACTION
    config = object_field(generate_request(request.document), "generationConfig")
    is_side = harness == "gemini-cli" or any(field(config, name) is not None for name in _SCHEMAS)
    return CallClass.SIDE if is_side else None


def stated_cwd(text: str) -> str:
    """The working directory as Gemini CLI's session context states it, '' when it does not."""
    if "orking in the " not in text and "**Workspace Directories:**" not in text:
        return ""
    found = _CWD.search(text)
    return found["path"].strip() if found else ""
