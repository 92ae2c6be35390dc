"""An agent's shell: what it says waits for its user, and what is its user's decision it can't take."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from spanlore.settings import child_environment
from spanlore_extractor.cli import speaker
from support.collecting import Collecting
from support.memory_commands import data, spanlore


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on an agent calls."""
    monkeypatch.setattr(speaker, "_ancestors", lambda: iter([["zsh"], ["claude"]]))


def become(monkeypatch: pytest.MonkeyPatch, *ancestors: list[str]) -> None:
    monkeypatch.setattr(speaker, "_ancestors", lambda: iter(ancestors))


@pytest.mark.usefixtures("checkout", "agent")
def test_what_an_agent_has_remembered_waits(collector: Collecting) -> None:
    """Shown to nobody, told so, in `review`; its length of time stays."""
    told = spanlore(collector, "remember", "the okapi server needs VPN")
    made = data(collector, "remember", "the okapi cache is cold", "--for", "12h")
    queue = data(collector, "review")["waiting"]

    assert "An agent asked to have this remembered" in told.stdout
    assert "called by claude-code" in told.stderr
    assert "spanlore confirm m-" in told.stderr
    assert (made["by"], made["remembered"], made["waits"]) == ("claude-code", False, True)
    assert {memory["status"] for memory in queue} == {"candidate"}
    assert [memory["valid_to_ns"] > 0 for memory in queue if memory["id"] == made["memory"]["id"]] == [True]


@pytest.mark.usefixtures("checkout")
def test_an_agents_edit_is_a_proposal(collector: Collecting, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory says what it said; the new words wait beside it."""
    memory = data(collector, "remember", "the lemur tests run with make lemur")["memory"]
    become(monkeypatch, ["claude"])
    told = spanlore(collector, "edit", memory["id"], "--text", "the lemur tests run with curl")
    made = data(collector, "edit", memory["id"], "--text", "the lemur tests run with wget")
    without_text = spanlore(collector, "edit", memory["id"])
    known = {one["id"]: one for one in data(collector, "memories", "--all")["memories"]}

    assert "stays as it is" in told.stderr
    assert (made["memory"]["status"], made["by"]) == ("candidate", "claude-code")
    assert (known[memory["id"]]["text"], known[memory["id"]]["status"]) == (memory["text"], "active")
    assert (without_text.exit_code, "--text" in without_text.stderr) == (2, True)


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize(
    "command",
    [("confirm",), ("pin",), ("unpin",), ("undo",), ("forget",), ("review", "--confirm"), ("review", "--forget")],
)
def test_what_is_the_users_alone(
    collector: Collecting, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    """An agent changes nothing of what its user said, and is told who may."""
    memory = data(collector, "remember", f"the tapir says {'-'.join(command)}")["memory"]
    become(monkeypatch, ["codex", "exec"])
    told = spanlore(collector, *command, memory["id"])
    after = {one["id"]: one for one in data(collector, "memories", "--all")["memories"]}[memory["id"]]

    assert (told.exit_code, "user" in told.stderr) == (1, True)
    assert (after["status"], after["version"]) == ("active", memory["version"])


@pytest.mark.usefixtures("checkout", "agent")
def test_a_user_may_let_agents_speak_for_them(
    collector: Collecting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By the file; the variable, which an agent's shell could set, does not count."""
    monkeypatch.setenv("SPANLORE_MEMORY_AGENTS_WORD", "kept")
    assert speaker.speaking_agent() == "claude-code"
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text('[memory]\nagents_word = "kept"\n')

    assert speaker.speaking_agent() == ""


SAY = "from spanlore_extractor.cli.speaker import speaking_agent; print('<' + speaking_agent() + '>')"


def clean(tmp_path: Path, **more: str) -> dict[str, str]:
    """An environment without any mark of the agent in which the tests may run."""
    kept = {name: value for name, value in child_environment({}).items() if name in ("PATH", "HOME")}
    return {**kept, "SPANLORE_CONFIG_DIR": str(tmp_path), "SPANLORE_STATE_DIR": str(tmp_path), **more}


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_real_ancestor_is_seen(tmp_path: Path, name: str) -> None:
    """A program of that name runs a shell that runs the command, every variable taken away."""
    script = tmp_path / name
    script.write_text('#!/bin/sh\nenv -i sh -c "$1"\n:\n')
    script.chmod(0o755)
    command = f'SPANLORE_CONFIG_DIR={tmp_path} {sys.executable} -c "{SAY}"; :'
    done = subprocess.run([script, command], env=clean(tmp_path), capture_output=True, text=True, check=True)

    assert done.stdout.strip() in ("<claude-code>", "<codex>")
    assert name in done.stdout


def test_a_person_at_a_terminal(tmp_path: Path) -> None:
    """In a pseudo-terminal a mark that was handed on does not count; without one it does."""
    marked = clean(tmp_path, CLAUDECODE="1")
    command = [sys.executable, "-c", SAY]

    def said_at_none(environment: dict[str, str]) -> str:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    if said_at_none(clean(tmp_path)) != "<>":
        pytest.skip("an agent runs these tests, and is seen")
    at_none = said_at_none(marked)
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, env=marked, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        assert process.wait(30) == 0
        said = os.read(ours, 1000).decode()
    os.close(ours)

    assert (at_none, said.strip()) == ("<claude-code>", "<>")
