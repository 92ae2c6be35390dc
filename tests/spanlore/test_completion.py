"""What the tab key offers: from a real store, in real shells, and nothing where there is no daemon."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore import completion
from spanlore.settings import Paths, child_environment
from spanlore_collector.store.api_client import MemoryClient
from support.collector_process import CollectorProcess
from support.web_story import REPOSITORY, SESSION, web_story

SPANLORE = Path(sys.executable).with_name("spanlore")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Paths]:
    """A store with sessions of two repositories and some memories."""
    with CollectorProcess(tmp_path_factory.mktemp("completion")) as collector:
        story = web_story(time.time_ns())
        assert collector.post_spans(story.spans).status == 200
        client = MemoryClient(collector.url, collector.token)
        client.apply(story.operations)
        client.close()
        daemon = {"collector_port": collector.port, "clickhouse_port": collector.clickhouse_port}
        collector.paths.daemon_file.write_text(json.dumps(daemon))
        yield collector.paths


@pytest.fixture
def here(told: Paths, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """This process finds that store."""
    monkeypatch.setattr(Paths, "here", classmethod(lambda cls: told))
    return told


def words(offers: completion.Offers) -> list[str]:
    return [word for word, _ in offers]


def test_ids_and_names(here: Paths) -> None:
    """Each begins as was typed, newest first; of a repository its name will do; each says what it is."""
    assert words(completion.sessions(""))[0] == SESSION
    assert words(completion.sessions("5e551011-b")) == [f"5e551011-bbbb-4000-8000-00000000000{n}" for n in range(3)]
    assert "claude-code widgets" in dict(completion.sessions(""))[SESSION]
    assert sorted(words(completion.memories("m-00000000000"))) == [f"m-00000000000{n}" for n in range(1, 6)]
    assert words(completion.scopes("github.com/acme/w")) == words(completion.repositories("github.com/acme/w"))
    assert words(completion.repositories("github.com/acme/w")) == [REPOSITORY]
    assert words(completion.repositories("widg")) == ["widgets"]
    assert set(words(completion.repositories("acme/"))) == {"acme/widgets", "acme/shop"}
    assert set(words(completion.agents(""))) == {"claude-code", "codex", "pi"}
    assert len(completion.requests("")) > 5
    assert completion.sessions("it's \\ none") == []


def test_nothing_is_said_without_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None was ever there, it is gone, or something else listens where it was: no words, no error."""
    paths = Paths.from_environ({"HOME": str(tmp_path)})
    monkeypatch.setattr(Paths, "here", classmethod(lambda cls: paths))
    assert completion.sessions("") == []
    paths.ensure()
    paths.token_file.write_text("x")
    for text in ("", "{", "[]", '{"clickhouse_port": 1}', '{"clickhouse_port": null}'):
        paths.daemon_file.write_text(text)
        assert completion.memories("m") == []


def test_it_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A daemon that takes the connection and never answers is given up."""
    paths = Paths.from_environ({"HOME": str(tmp_path)})
    paths.ensure()
    paths.token_file.write_text("x")
    monkeypatch.setattr(Paths, "here", classmethod(lambda cls: paths))
    monkeypatch.setattr(completion, "PATIENCE_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        paths.daemon_file.write_text(json.dumps({"clickhouse_port": silent.getsockname()[1]}))
        assert completion.agents("") == []


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("session 5e551011-a", SESSION),
        ("why m-000000000001", "m-000000000001"),
        ("sessions --repo widg", "widgets"),
        ("sessions --agent pi", "pi"),
        ("undo m-000000000002", "m-000000000002"),
        ("sessi", "sessions"),
    ],
)
def test_commands_offer_them(told: Paths, typed: str, word: str) -> None:
    """By the protocol that bash speaks, in a process of its own, with nothing on stderr."""
    line = f"spanlore {typed}"
    environment = child_environment(
        {
            "SPANLORE_STATE_DIR": str(told.state_dir),
            "SPANLORE_CONFIG_DIR": str(told.config_dir),
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
            "_SPANLORE_COMPLETE": "complete_bash",
        }
    )
    done = subprocess.run([SPANLORE], env=environment, capture_output=True, text=True, timeout=300, check=True)

    assert word in done.stdout.splitlines()
    assert done.stderr == ""


BASH = """. {file}; COMP_WORDS=(spanlore session 5e551011-a) COMP_CWORD=2; _spanlore_complete
printf '%s\\n' "${{COMPREPLY[@]}}"; complete -p spanlore"""
ZSH = """autoload -Uz compinit; compinit -u -d {folder}/dump; . {file}; words=(spanlore session 5e551011-a) CURRENT=3
_arguments() {{ print -rl -- "$@"; }}; _spanlore_complete; print -r -- $_comps[spanlore]"""
FISH = ". {file}; complete --do-complete 'spanlore session 5e551011-a'"


@pytest.mark.parametrize(("shell", "script"), [("bash", BASH), ("zsh", ZSH), ("fish", FISH)])
def test_shells_complete(told: Paths, tmp_path: Path, shell: str, script: str) -> None:
    """With the file that `spanlore install` writes."""
    from spanlore_proxy.install.shell import Shell, functions

    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "file"
    file.write_text(functions([], str(SPANLORE), Shell(shell)))
    environment = {
        "PATH": f"{SPANLORE.parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "SPANLORE_STATE_DIR": str(told.state_dir),
        "SPANLORE_CONFIG_DIR": str(told.config_dir),
    }
    command = [program, "-c", script.format(file=file, folder=tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    assert SESSION in done.stdout, done.stderr
