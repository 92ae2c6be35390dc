"""Where agents keep their session files, and which files a path means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

DATABASE: Final = "opencode.db"
ALIASES: Final[Mapping[str, str]] = {
    "claude": "claude-code",
    "gemini": "gemini-cli",
    "copilot": "copilot-cli",
    "mini": "mini-swe-agent",
    "mini-swe": "mini-swe-agent",
    "swe": "swe-agent",
}
PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": ("**/*.jsonl",),
    "codex": ("**/rollout-*.jsonl",),
    "opencode": (DATABASE, "storage/session/*/*.json"),
    "gemini-cli": ("*/chats/*.json", "*/chats/*.jsonl"),
    "pi": ("**/*.jsonl",),
    "copilot-cli": ("**/*.jsonl",),
    "mini-swe-agent": ("**/*.traj.json",),
    "swe-agent": (),
}
"""Below an agent's own folder, what are its sessions."""
SUFFIXES: Final = frozenset({".jsonl", ".json", ".traj"})
"""What may be a session below a folder that the user names."""
_PIECES: Final = frozenset({"message", "part"})
"""Folders of OpenCode's storage that hold pieces of sessions."""


def agent_named(name: str) -> str:
    """The agent a user means.

    Raises:
        ValueError: none of those known; the text says which are.
    """
    agent = ALIASES.get(name.lower(), name.lower())
    if agent not in PATTERNS:
        raise ValueError(f"no importer for {name!r}; there is one for {', '.join(PATTERNS)}")
    return agent


def homes(agent: str, environment: Mapping[str, str]) -> list[Path]:
    """The folders that an agent uses by itself; SWE-agent has none."""
    home = Path(environment.get("HOME") or "~").expanduser()
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    codex = Path(environment.get("CODEX_HOME") or home / ".codex")
    claude = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    return {
        "claude-code": [claude / "projects"],
        "codex": [codex / "sessions", codex / "archived_sessions"],
        "opencode": [data / "opencode"],
        "gemini-cli": [home / ".gemini" / "tmp"],
        "pi": [home / ".pi" / "agent" / "sessions"],
        "copilot-cli": [home / ".copilot" / "session-state"],
        "mini-swe-agent": [config / "mini-swe-agent"],
    }.get(agent, [])


def own_files(agent: str, environment: Mapping[str, str]) -> list[Path]:
    """The session files an agent keeps by itself, in order."""
    return sorted(
        {one for home in homes(agent, environment) for pattern in PATTERNS[agent] for one in home.glob(pattern)}
    )


def files_below(paths: Iterable[Path]) -> list[Path]:
    """The files that named paths mean: a file itself, of a folder all that may be sessions; each once, in order."""
    found: dict[Path, None] = {}
    for path in paths:
        for one in [path] if not path.is_dir() else sorted(path.rglob("*")):
            is_session = one.suffix in SUFFIXES and one.parent.parent.name not in _PIECES
            if one == path or is_session or one.name == DATABASE:
                found[one] = None
    return [one for one in found if not one.is_dir()]
