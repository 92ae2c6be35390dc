"""The agents that can play the demonstration: what is put behind `spanlore run --` for one prompt of one session."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from spanlore_proxy.demo.scenario import MODEL

LOCAL_CLAUDE = Path(".cache/agents/node_modules/.bin/claude")
"""Where the repository's own tests install the binary, below the checkout."""
FAKE_KEY = "sk-ant-api03-demonstration-only"


class Driver(Protocol):
    """One agent."""

    @property
    def environment(self) -> dict[str, str]: ...

    def command(self, session_id: str, prompt: str, *, is_first: bool) -> list[str]:
        """The agent's command line for one prompt; the first of a session starts it."""


@dataclass(frozen=True, slots=True)
class ScriptedAgent:
    """The small agent beside this file."""

    environment: dict[str, str] = field(default_factory=dict)

    def command(self, session_id: str, prompt: str, *, is_first: bool) -> list[str]:
        return [
            sys.executable,
            "-m",
            "spanlore_proxy.demo.agent",
            prompt,
            "--session",
            session_id,
            "--model",
            MODEL,
        ]


@dataclass(frozen=True, slots=True)
class ClaudeCode:
    """The real Claude Code, with a key that is none and without its calls to other hosts."""

    binary: Path
    model: str = MODEL

    @property
    def environment(self) -> dict[str, str]:
        return {
            "ANTHROPIC_API_KEY": FAKE_KEY,
            "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def command(self, session_id: str, prompt: str, *, is_first: bool) -> list[str]:
        session = ["--session-id", session_id] if is_first else ["--resume", session_id]
        options = ["--dangerously-skip-permissions", "--model", self.model]
        return [str(self.binary), "-p", prompt, *session, *options]


def find_claude(checkout: Path) -> Path | None:
    """The `claude` binary on PATH, else the one below the checkout or the working directory; None without one."""
    found = shutil.which("claude")
    if found is not None:
        return Path(found)
    return next((path / LOCAL_CLAUDE for path in (checkout, Path.cwd()) if (path / LOCAL_CLAUDE).exists()), None)
