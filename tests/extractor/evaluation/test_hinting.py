"""Hints that sessions would have got: judged by what the sessions themselves did, not by how hints are chosen."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spanlore.recall.fit import Weighed
from spanlore_extractor.evaluation.hinting import evaluate, hints, listing, table
from spanlore_extractor.evaluation.left_out import left_out
from spanlore_extractor.mining.session import MinedSession
from support.told import SECOND_NS, START_NS, Told

NO_BUN = "error: unrecognized subcommand 'bun'"
MISSING = "ModuleNotFoundError: No module named '{}'"


def session(name: str, number: int) -> Told:
    return Told(name, start_ns=START_NS + number * 900 * SECOND_NS).human("go")


def solved(name: str, number: int) -> MinedSession:
    return session(name, number).run("rtk bun run test", NO_BUN, 2).run("bun run test", "ok").session()


def installing(name: str, number: int, package: str) -> MinedSession:
    """Python lacks a package, which is then installed."""
    told = session(name, number).run("python x.py", MISSING.format(package), 1)
    return told.run(f"pip install {package}", "ok").run("python x.py", "ok").session()


def verdicts(*sessions: MinedSession) -> list[tuple[str, bool]]:
    return [(hint.verdict, hint.is_shown) for hint in hints(left_out(sessions))]


def test_the_same_failure_with_the_same_fix() -> None:
    """Right in both sessions, from what the other one teaches; a session is never told its own."""
    assert verdicts(solved("s1", 0), solved("s2", 1)) == [("right", True)] * 2
    assert verdicts(solved("s1", 0)) == []


def test_the_same_class_with_another_fix() -> None:
    """What was found is wrong, and is not shown."""
    assert verdicts(installing("s1", 0, "yaml"), installing("s2", 1, "numpy")) == [("wrong", False)] * 2


def test_what_was_never_solved_is_untold() -> None:
    """Nobody knows whether it would have helped."""
    unsolved = session("s2", 1).run("rtk bun run test", NO_BUN, 2).session()

    assert verdicts(solved("s1", 0), unsolved) == [("untold", True)]


def test_the_command_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table, every hint when asked, and exit code 1 where too many are wrong or too few are left."""
    from spanlore_extractor.cli.app import commands
    from spanlore_extractor.evaluation import hinting

    app = typer.Typer()
    commands(app)
    assert CliRunner().invoke(app, ["eval", "hints", str(tmp_path)]).exit_code == 2
    (tmp_path / "sessions").mkdir()
    told = [solved("s1", 0), solved("s2", 1), installing("s3", 2, "yaml"), installing("s4", 3, "numpy")]
    monkeypatch.setattr(hinting, "sessions_in", lambda folder: (told, 0))
    result = evaluate(tmp_path)
    done = CliRunner().invoke(app, ["eval", "hints", str(tmp_path), "--list", "--json"])
    found, fitting, *_ = result["rows"]

    assert (found["right"], found["wrong"], found["wrong_share"]) == (2, 2, 0.5)
    assert (fitting["right"], fitting["wrong"], fitting["right_kept"]) == (2, 0, 1.0)
    assert done.exit_code == 0
    assert table(result) in done.stdout
    assert all(text in done.stdout for text in listing(result))
    monkeypatch.setattr(hinting, "weigh", lambda matches, failed: [Weighed(match, "") for match in matches])
    assert not evaluate(tmp_path)["within_budget"]
