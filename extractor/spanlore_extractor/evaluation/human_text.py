"""What of a transcript's user line a person typed. The proxy does this at capture; this is its light equivalent."""

from __future__ import annotations

import re

_BLOCKS = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+|task-notification|bash-(?:input|stdout|stderr)|"
    r"user-prompt-submit-hook|ide_[a-z_]+|spanlore-[a-z]+)\b[^>]*>.*?</\1>",
    re.S,
)
_NOT_TYPED = (
    "Caveat: The messages below",
    "This session is being continued",
    "Stop hook feedback",
    "Operation stopped by hook",
    "[Request interrupted",
    "<environment_context>",
    "<user_instructions>",
    "<permissions",
    "<turn_aborted>",
    "# AGENTS.md instructions",
    "# Context from my IDE",
    '{"task_id"',
)
_REASON = re.compile(r"the user (?:said|provided the following reason[^:]*):\s*\n?(.*)", re.S)
_BOILERPLATE = re.compile(r"\n*\s*Note: The user's next message may contain a correction or preference\..*\Z", re.S)


def typed(text: str) -> str:
    """What a person typed of a user line; '' when nothing."""
    left = _BLOCKS.sub("", text).strip()
    return "" if left.startswith(_NOT_TYPED) else left


def rejection_reason(text: str) -> str:
    """The reason in a rejected tool call's result; '' when none was given."""
    found = _REASON.search(text)
    return _BOILERPLATE.sub("", found[1]).strip() if found else ""
