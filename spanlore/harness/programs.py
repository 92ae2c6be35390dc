"""Which agent a command line starts, seen through `npx`, `env X=1`, `node …/cli.js` and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

HARNESSES: Final = {
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
    "cline": "cline",
    "cn": "continue",
    "@continuedev/cli": "continue",
    "gptme": "gptme",
    "vibe": "mistral-vibe",
    "mistral-vibe": "mistral-vibe",
    "copilot": "copilot-cli",
    "@github/copilot": "copilot-cli",
    "crush": "crush",
    "@charmland/crush": "crush",
    "goose": "goose",
    "kimi": "kimi-code",
    "@moonshot-ai/kimi-code": "kimi-code",
    "kimi-cli": "kimi-cli",
    "kilo": "kilocode",
    "kilocode": "kilocode",
    "@kilocode/cli": "kilocode",
    "grok": "grok-cli",
    "@vibe-kit/grok-cli": "grok-cli",
    "droid": "droid",
    "amp": "amp",
    "@sourcegraph/amp": "amp",
    "cursor-agent": "cursor-agent",
    "openhands": "openhands",
}
"""Programs and packages → harness, as spans name it."""

# fmt: off
_WRAPPERS: Final = frozenset([
    "env", "command", "nice", "nohup", "time", "timeout", "stdbuf", "script",
    "npx", "bunx", "pnpm", "pnpx", "yarn", "dlx", "exec", "x", "uvx", "uv", "tool", "run", "pipx",
    "node", "nodejs", "bun", "deno", "python", "python3", "sh", "bash", "zsh",
])
_SHELLS: Final = frozenset(["sh", "bash", "zsh"])
_PASSED_OVER: Final = re.compile(r"-|[A-Za-z_]\w*=|\d+[smhd]?$")
"""A wrapper's own words: options, assignments, durations."""
# fmt: on


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
        if not _is_passed_over(word):
            return None
    return None


def started_program(argv: Sequence[str]) -> str:
    """What a command line starts behind its wrappers: `make` of `env X=1 nice make all`; the last wrapper where nothing
    else is there (`bash -l`), or words for a shell to read (`sh -c "make all"`); '' of none at all."""
    last = ""
    for word in argv:
        if last in _SHELLS and re.fullmatch(r"-[a-z]*c", word):
            return last
        if not _is_passed_over(word):
            return program_of(word)
        last = last if _PASSED_OVER.match(word) else program_of(word)
    return last


def _is_passed_over(word: str) -> bool:
    return bool(_PASSED_OVER.match(word)) or re.sub(r"(?<=python)[\d.]+$", "", program_of(word)) in _WRAPPERS


def _harness(word: str) -> str:
    return HARNESSES.get(program_of(word)) or _by_package(word)


def program_of(word: str) -> str:
    """A word's last part, without what only some system needs."""
    name = PurePath(word).name
    return re.sub(r"\.(exe|cmd|ps1|js|mjs)$", "", name) if "/" in word or "." in name else word


def _by_package(word: str) -> str:
    """`@scope/name@1.2`, or a script inside that package's directory."""
    bare = re.sub(r"(?<=.)@[^/@]*$", "", word)
    if bare in HARNESSES:
        return HARNESSES[bare]
    return next((known for name, known in HARNESSES.items() if name[0] == "@" and f"/{name}/" in word), "")
