"""The shell's functions, in real shells, and the block in their start files."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.install.shell import Shell, functions, start_file, with_block, without_block

SOURCE = Path("/home/x y/.config/spanlore/agents.sh")


@given(st.one_of(st.none(), st.text()))
def test_the_way_back_gives_the_old_bytes(text: str | None) -> None:
    """Whatever the file held, and whether it was there at all; doing it twice is doing it once."""
    once = with_block(text, SOURCE)

    assert with_block(once, SOURCE) == once
    assert without_block(once) == text


def test_a_file_without_a_block_stays() -> None:
    """Nothing of the user's is touched."""
    assert without_block("alias ll='ls -l'\n# spanlore\n") == "alias ll='ls -l'\n# spanlore\n"


def test_what_the_user_wrote_below_stays() -> None:
    """The block goes, the rest stays where it was."""
    text = with_block("a\n", SOURCE) + "b\n"

    assert without_block(text) == "a\nb\n"
    assert without_block(with_block(None, SOURCE) + "b\n") == "b\n"


@pytest.mark.parametrize("shell", list(Shell))
def test_real_shells_run_the_agent_through_spanlore(shell: Shell, tmp_path: Path) -> None:
    """The agent's name calls `spanlore run -- AGENT` with all words as they were; without spanlore the agent itself."""
    if shutil.which(shell.value) is None:
        pytest.skip(f"{shell.value} is not installed")
    ours, agent = tmp_path / "it's ours" / "spanlore", tmp_path / "bin" / "codex"
    for path, word in ((ours, "ours"), (agent, "agent")):
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\nprintf "%s|" {word} "$@"\n')
        path.chmod(0o755)
    file = tmp_path / "agents"
    file.write_text(functions(["codex"], str(ours), shell))

    def codex() -> str:
        words = [shell.value, "-c", f". '{file}'; codex exec 'two words'"]
        environment = {"PATH": f"{agent.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=300).stdout

    assert codex() == "ours|run|--|codex|exec|two words|"
    ours.unlink()
    assert codex() == "agent|exec|two words|"


def test_start_files() -> None:
    """Where each shell looks."""
    home = Path("/h")

    assert start_file(Shell.BASH, home) == Path("/h/.bashrc")
    assert start_file(Shell.ZSH, home, "/z") == Path("/z/.zshrc")
    assert start_file(Shell.FISH, home) == Path("/h/.config/fish/conf.d/spanlore.fish")


def test_no_agents_is_still_a_script() -> None:
    """A file that a shell can read."""
    assert subprocess.run(["bash", "-n"], input=functions([], "/x", Shell.BASH), text=True, check=False).returncode == 0
