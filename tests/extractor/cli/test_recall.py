"""`spanlore recall` against a real daemon's collector."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from spanlore.memory.memory import Kind, Memory
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.cli.app import commands
from support.collecting import Collecting
from support.injecting import failure_trigger, make_memory

SCOPE = "example.org/recall"


def spanlore(collector: Collecting, *arguments: str) -> Result:
    app = typer.Typer()
    commands(app)
    return CliRunner().invoke(app, arguments, env=collector.environment)


@pytest.fixture(scope="module")
def known(collector: Collecting) -> list[Memory]:
    """Three memories of a repository."""
    memories = [
        make_memory("alembic", scope=SCOPE, text="`alembic upgrade` fails; `make migrate` works.", value="make db"),
        make_memory("tool", scope=SCOPE, text="The database of the sandbox is called sandbox.", value="sandbox"),
        make_memory("codex", scope=SCOPE, harness="codex", kind=Kind.HARNESS, text="alembic upgrade wants a list."),
    ]  # fmt: skip
    collector.client.apply([Operation(Verb.ADDED, memory) for memory in memories])
    return memories


def test_what_is_known_is_told(collector: Collecting, known: list[Memory]) -> None:
    """The memory with its id, under the day of its newest evidence."""
    lines = spanlore(collector, "recall", "--scope", SCOPE, "alembic", "upgrade").stdout.splitlines()

    assert lines[0] == "2026-09-21"
    assert lines[1].startswith(known[0].id)
    assert max(map(len, lines)) <= 80


def test_explain_tells_both_ranks(collector: Collecting, known: list[Memory]) -> None:
    """By words and by meaning, with --backend hybrid."""
    asked = ("recall", "--scope", SCOPE, "--explain", "--backend", "hybrid", "database migration with alembic")
    text = spanlore(collector, *asked).stdout

    assert "rank by words 1, by meaning" in text
    assert "ms, hybrid" in text
    assert max(map(len, text.splitlines())) <= 80


def test_filters_and_no_backend(collector: Collecting, known: list[Memory]) -> None:
    """Only of that kind, path or branch; `none` says that nothing was looked up."""
    asked = ("recall", "--scope", SCOPE, "alembic", "--json")
    found: Any = json.loads(spanlore(collector, *asked, "--path", "make db", "--branch", "main").stdout)
    none = spanlore(collector, "recall", "--scope", SCOPE, "alembic", "--backend", "none")

    assert [item["id"] for item in found["candidates"]] == [known[0].id]
    assert json.loads(spanlore(collector, *asked, "--kind", "trap").stdout)["candidates"] == []
    assert json.loads(spanlore(collector, *asked, "--path", "elsewhere").stdout)["candidates"] == []
    assert "nothing is looked up" in none.stderr


def test_explain_tells_scores_and_what_was_cut(collector: Collecting, known: list[Memory]) -> None:
    """Every candidate, its matched words, and the reason; as JSON the same."""
    asked = ("recall", "--scope", SCOPE, "--explain", "alembic upgrade of the database")
    text = spanlore(collector, *asked).stdout
    document: Any = json.loads(spanlore(collector, *asked, "--json").stdout)

    assert "would be shown" in text
    assert "cut: unclear" in text
    assert "matched" in text
    assert max(map(len, text.splitlines())) <= 80
    assert [item["cut"] for item in document["candidates"]] == ["", "unclear"]
    assert document["memories"] >= 2


def test_what_would_stand_beside_a_failure(collector: Collecting) -> None:
    """--command says what failed, the query is what it printed; what does not fit is told with the reason."""
    scope, printed = f"{SCOPE}/failed", "ModuleNotFoundError: No module named '{}'"
    text = f"`python` failed with “{printed.format('yaml')}”; it passed after `pip install yaml`."
    trigger = failure_trigger("python x.py", printed.format("yaml"), 1)
    memory = make_memory("python", scope=scope, text=text, value="pip install yaml", trigger=trigger)
    collector.client.apply([Operation(Verb.ADDED, memory)])
    asked = ("recall", "--scope", scope, "--explain", "--command", "python x.py", "--exit-code", "1")
    fits, other = (spanlore(collector, *asked, printed.format(name)).stdout for name in ("yaml", "erfa"))

    assert "would be shown" in fits
    assert "found by signature" in fits
    assert "cut: other_error, it is about another error of that command" in other
    assert max(map(len, (fits + other).splitlines())) <= 80


def test_filters(collector: Collecting, known: list[Memory]) -> None:
    """What is bound to an agent comes only for it; kinds can be asked for."""
    asked = ("recall", "--scope", SCOPE, "alembic upgrade", "--json")
    for_codex = json.loads(spanlore(collector, *asked, "--agent", "codex", "--kind", "harness").stdout)

    assert [item["id"] for item in for_codex["candidates"]] == [known[2].id]
    assert known[2].id not in spanlore(collector, *asked).stdout


def test_outside_of_a_repository_a_scope_is_needed(
    collector: Collecting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what to do."""
    monkeypatch.chdir(tmp_path)
    result = spanlore(collector, "recall", "x")

    assert result.exit_code == 2
    assert "--scope" in result.stderr


def test_without_a_daemon_it_says_so(tmp_path: Path) -> None:
    """Exit code 3."""
    app = typer.Typer()
    commands(app)
    environment = {"SPANLORE_STATE_DIR": str(tmp_path / "s"), "SPANLORE_CONFIG_DIR": str(tmp_path / "c")}
    result = CliRunner().invoke(app, ["recall", "--scope", "user", "x"], env=environment)

    assert result.exit_code == 3
    assert "spanlore up" in result.stderr
