import json
import uuid
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from support.collector_process import CollectorProcess
from support.stored_session import store_session


def test_sessions_as_table_and_as_json(app: typer.Typer, played: str) -> None:
    """A line for people, an object for scripts."""
    shown = CliRunner().invoke(app, ["sessions", "--repository", played])
    data = json.loads(CliRunner().invoke(app, ["sessions", "--repository", played, "--json"]).output)

    assert shown.exit_code == 0
    assert played[:8] in shown.output
    assert [row["session_id"] for row in data] == [played]


def test_session_by_prefix(app: typer.Typer, played: str) -> None:
    """The tree of the one session whose id begins so."""
    shown = CliRunner().invoke(app, ["session", played[:13]])
    data = json.loads(CliRunner().invoke(app, ["session", played[:13], "--json"]).output)

    assert "✗ Bash" in shown.output
    assert "boom" in shown.output
    assert [tool["outcome"] for tool in data["turns"][0]["chats"][0]["tools"]] == ["failure", "success"]


@pytest.mark.usefixtures("played")
def test_unknown_session_is_refused(app: typer.Typer) -> None:
    """An id that begins no session is exit code 1 with a way on."""
    done = CliRunner().invoke(app, ["session", "no-such-session"])

    assert done.exit_code == 1
    assert "spanlore sessions" in done.stderr


def test_ambiguous_prefix_names_its_sessions(app: typer.Typer, collector: CollectorProcess) -> None:
    """An id that begins several sessions names them."""
    prefix = str(uuid.uuid4())
    ids = {store_session(collector, f"{prefix}-{number}") for number in (1, 2)}
    done = CliRunner().invoke(app, ["session", prefix])

    assert done.exit_code == 1
    assert all(session in done.stderr for session in ids)


def test_no_sessions_of_that_kind(app: typer.Typer, played: str) -> None:
    """Nothing found is no error; it says how to begin."""
    done = CliRunner().invoke(app, ["sessions", "--repository", f"no/{played}"])

    assert done.exit_code == 0
    assert "spanlore run" in done.stderr


def test_daemon_that_is_down_is_exit_code_3(app: typer.Typer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a daemon there is nothing to read, and the message says how to start it."""
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(tmp_path))
    done = CliRunner().invoke(app, ["sessions"])

    assert done.exit_code == 3
    assert "spanlore up" in done.stderr
