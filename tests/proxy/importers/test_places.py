"""Where agents keep their sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanlore_proxy.importers.places import agent_named, files_below, own_files


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_names() -> None:
    """Short names are as good; another agent is told which there are."""
    assert (agent_named("claude"), agent_named("Gemini"), agent_named("codex")) == (
        "claude-code",
        "gemini-cli",
        "codex",
    )
    with pytest.raises(ValueError, match="claude-code, codex"):
        agent_named("emacs")


def test_own_folders(tmp_path: Path) -> None:
    """Each agent's default, or where its own variable says; nothing is no error."""
    claude = tmp_path / ".claude" / "projects" / "-r" / "s.jsonl"
    rollout = tmp_path / "elsewhere" / "sessions" / "2026" / "01" / "02" / "rollout-x.jsonl"
    chat = tmp_path / ".gemini" / "tmp" / "hash" / "chats" / "session-1.json"
    database = tmp_path / "data" / "opencode" / "opencode.db"
    touch(claude, rollout, chat, chat.parent.parent / "logs.json", database)
    environment = {
        "HOME": str(tmp_path),
        "CODEX_HOME": str(tmp_path / "elsewhere"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }

    found = {agent: own_files(agent, environment) for agent in ("claude-code", "codex", "gemini-cli", "opencode", "pi")}

    assert found == {
        "claude-code": [claude],
        "codex": [rollout],
        "gemini-cli": [chat],
        "opencode": [database],
        "pi": [],
    }


def test_named_paths(tmp_path: Path) -> None:
    """A file means itself, whatever its name; a folder all that may be sessions, pieces of OpenCode's left out."""
    session, piece = tmp_path / "storage" / "session" / "p" / "s.json", tmp_path / "storage" / "part" / "m" / "p.json"
    odd, other = tmp_path / "odd.txt", tmp_path / "a" / "b.traj"
    touch(session, piece, odd, other)

    assert files_below([tmp_path]) == [other, session]
    assert files_below([odd, odd]) == [odd]
