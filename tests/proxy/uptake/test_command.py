"""The whole command, with a scripted model."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from spanlore_proxy.uptake.command import register
from support.scripted_chat import ScriptedChat, obeys


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)
    return app


def test_the_whole_command(tmp_path: Path, app: typer.Typer) -> None:
    """Through the proxy to a model that obeys: all of block and hint, nothing else; the report on the last line."""
    results = tmp_path / "answers.jsonl"
    with ScriptedChat(obeys) as chat:
        command = [
            "eval", "uptake", "--lessons", "3", "--wording", "standard", "--wording", "brief",
            "--url", f"{chat.url}/v1", "--model", "scripted", "--results", str(results), "--json",
        ]  # fmt: skip
        result = CliRunner().invoke(app, command)
        again = CliRunner().invoke(app, command)
        asked = len(chat.received)
        resumed = CliRunner().invoke(app, [*command, "--resume"])

        assert len(chat.received) == asked == 3 * (7 + 5)
    report = json.loads(result.stdout.splitlines()[-1])
    shares = {row["what"]: row["named_share"] for row in report["rows"]}

    assert result.exit_code == 0, result.output
    assert {what for what, share in shares.items() if share == 1.0} == {
        f"{place}, {wording}"
        for place in ("task: block", "failure: block", "failure: hint")
        for wording in ("standard", "brief")
    }
    assert set(shares.values()) == {0.0, 1.0}
    assert all(row["exposed_tokens"] > 0 for row in report["rows"] if row["wording"])
    assert (again.exit_code, "--resume" in again.stderr) == (1, True)
    assert json.loads(resumed.stdout.splitlines()[-1]) == report


def test_only_some_arms_and_moments(app: typer.Typer) -> None:
    """Nothing else is asked, nor told."""
    with ScriptedChat(obeys) as chat:
        command = ["eval", "uptake", "--lessons", "2", "--arm", "none", "--arm", "hint", "--url", chat.url, "--json"]
        result = CliRunner().invoke(app, [*command, "--arm", "block", "--moment", "failure"])
        report = json.loads(result.stdout.splitlines()[-1])

        # The block is decided in an opening, whose answer nobody wants.
        assert sorted(request["max_tokens"] for request in chat.received) == [1, 1, *[48] * 6]
        assert [row["what"] for row in report["rows"]] == [
            "failure: none", "failure: block, standard", "failure: hint, standard",
        ]  # fmt: skip
        chat.received.clear()
        result = CliRunner().invoke(app, command)
        report = json.loads(result.stdout.splitlines()[-1])

        assert len(chat.received) == 2 * 3
    assert [row["what"] for row in report["rows"]] == ["task: none", "failure: none", "failure: hint, standard"]
    assert [row["what"] for row in report["differences"]] == ["failure: hint − none"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--wording", "shouting"], 2, "there is no wording shouting"),
        (["--moment", "soon"], 2, "there is no moment soon"),
        (["--arm", "leg"], 2, "there is no arm leg"),
        (["--model", "nowhere.gguf"], 1, "make small-model"),
        (["--url", "http://127.0.0.1:9", "--lessons", "2"], 1, "127.0.0.1:9"),
    ],
)
def test_what_is_wrong_is_told(
    tmp_path: Path, app: typer.Typer, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    """Where, and what to do."""
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["eval", "uptake", *arguments])

    assert (result.exit_code, message in result.stderr) == (code, True), result.output
