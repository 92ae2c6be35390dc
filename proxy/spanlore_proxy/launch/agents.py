"""What can be said to an agent on its command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from spanlore.harness.programs import program_of


class Via(StrEnum):
    """How an agent is led to the proxy."""

    PROXY = "proxy"
    """`HTTPS_PROXY` and our CA: all that the agent sends to LLM APIs, whichever they are."""
    BASE_URL = "base-url"
    """Plain http on loopback as the API's address: for what cannot trust a CA."""


# fmt: off
_CLAUDE_COMMANDS: Final = frozenset([
    "agents", "auth", "config", "doctor", "help", "install", "login", "logout", "mcp", "migrate-installer",
    "plugin", "plugins", "setup-token", "update", "upgrade",
])
"""Claude Code's sub-commands, which talk to no model."""
# fmt: on
_OWN_PROMPT: Final = ("--append-system-prompt", "--system-prompt")
_OTHER_UPSTREAM: Final = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_BASE_URL")
CREDENTIALS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""With one of them Claude Code is not on a subscription."""


def takes_client_block(argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether this is Claude Code on a subscription, which signs its requests, without a prompt flag of the user's own.

    With a key, or on an upstream of one's own, bodies are not signed and the proxy places the block itself.
    """
    if not argv or program_of(argv[0]) != "claude":
        return False
    words = argv[1:]
    if words and words[0] in _CLAUDE_COMMANDS:
        return False
    # The same prefix also covers `--append-system-prompt-file` and `--flag=value`.
    has_prompt = any(word.startswith(_OWN_PROMPT) for word in words)
    return not has_prompt and not any(environ.get(name) for name in (*CREDENTIALS, *_OTHER_UPSTREAM))


def with_client_block(argv: Sequence[str], block: str) -> list[str]:
    """The command line with the session block handed to the client."""
    return [argv[0], "--append-system-prompt", block, *argv[1:]] if block else list(argv)
