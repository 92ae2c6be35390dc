"""Which agent a command line starts, and what can be said to it on that command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Final


class Via(StrEnum):
    """How an agent is led to the proxy."""

    PROXY = "proxy"
    """`HTTPS_PROXY` and our CA: all that the agent sends to LLM APIs, whichever they are."""
    BASE_URL = "base-url"
    """Plain http on loopback as the API's address: for what cannot trust a CA."""


_HARNESSES: Final = {
    "claude": "claude-code",
    "@anthropic-ai/claude-code": "claude-code",
    "codex": "codex",
    "@openai/codex": "codex",
    "opencode": "opencode",
    "opencode-ai": "opencode",
    "gemini": "gemini-cli",
    "@google/gemini-cli": "gemini-cli",
    "pi": "pi",
    "@mariozechner/pi-coding-agent": "pi",
    "mini": "mini-swe-agent",
    "mini-swe-agent": "mini-swe-agent",
    "aider": "aider",
    "aider-chat": "aider",
    "qwen": "qwen-code",
    "@qwen-code/qwen-code": "qwen-code",
    "openclaw": "openclaw",
}
"""Programs and packages → harness, as `spanlore.harness` names it."""

# fmt: off
_WRAPPERS: Final = frozenset([
    "env", "command", "nice", "nohup", "time", "timeout", "stdbuf", "script",
    "npx", "bunx", "pnpm", "pnpx", "yarn", "dlx", "exec", "x", "uvx", "uv", "tool", "run", "pipx",
    "node", "nodejs", "bun", "deno", "python", "python3", "sh", "bash", "zsh",
])
_PASSED_OVER: Final = re.compile(r"-|[A-Za-z_]\w*=|\d+[smhd]?$")
"""A wrapper's own words: options, assignments, durations."""
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


def harness_of(argv: Sequence[str]) -> str:
    """The harness, seen through `npx`, `env X=1`, `node …/cli.js` and the like; 'unknown' if it is none we know."""
    place = agent_position(argv)
    return "unknown" if place is None else _harness(argv[place])


def agent_position(argv: Sequence[str]) -> int | None:
    """Which word names the agent; its own words follow. The second of `npx -p @openai/codex codex`."""
    for place, word in enumerate(argv):
        known = _harness(word)
        if known:
            is_package = word.startswith("@") and argv[place + 1 : place + 2] and _harness(argv[place + 1]) == known
            return place + 1 if is_package else place
        if not (_program(word) in _WRAPPERS or _PASSED_OVER.match(word)):
            return None
    return None


def takes_client_block(argv: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether this is Claude Code on a subscription, which signs its requests, without a prompt flag of the user's own.

    With a key, or on an upstream of one's own, bodies are not signed and the proxy places the block itself.
    """
    if not argv or _program(argv[0]) != "claude":
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


def _harness(word: str) -> str:
    return _HARNESSES.get(_program(word)) or _by_package(word)


def _program(word: str) -> str:
    name = PurePath(word).name
    return re.sub(r"\.(exe|cmd|ps1|js|mjs)$", "", name) if "/" in word or "." in name else word


def _by_package(word: str) -> str:
    """`@scope/name@1.2`, or a script inside that package's directory."""
    bare = re.sub(r"(?<=.)@[^/@]*$", "", word)
    if bare in _HARNESSES:
        return _HARNESSES[bare]
    return next((known for name, known in _HARNESSES.items() if name[0] == "@" and f"/{name}/" in word), "")
