"""`spanlore eval wire`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from spanlore_proxy.cli.evaluate import evaluate, register, table
from support import recordings


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    register(app)
    app.callback()(lambda: None)
    return app


def dump(folder: Path, dialect: str, name: str, *events: dict[str, Any]) -> None:
    (folder / dialect).mkdir(exist_ok=True)
    (folder / dialect / name).write_text("\n".join(json.dumps(event) for event in events))


def test_what_is_understood(tmp_path: Path, app: typer.Typer) -> None:
    """Whole, partial and skipped exchanges are told apart; all understood is exit code 0."""
    dump(tmp_path, "anthropic", "whole.json", json.loads(recordings.anthropic("json_message").body))
    dump(tmp_path, "anthropic", "cut.chunks.txt", {"type": "message_start", "message": {"id": "m"}})
    dump(tmp_path, "openai-chat", "later.json", {"choices": []})
    result = CliRunner().invoke(app, ["eval", "wire", str(tmp_path), "--json"])
    report = json.loads(result.stdout.splitlines()[-1])

    assert result.exit_code == 0
    assert report["within_budget"] is True
    anthropic, openai = report["rows"]
    assert {key: anthropic[key] for key in ("what", "exchanges", "folded", "partial", "failed", "skipped")} == {
        "what": "anthropic_messages", "exchanges": 2, "folded": 1, "partial": 1, "failed": 0, "skipped": 0,
    }  # fmt: skip
    assert (openai["what"], openai["exchanges"] - openai["skipped"] - openai["folded"]) == ("openai_chat", 0)


def test_what_is_unknown(tmp_path: Path, app: typer.Typer) -> None:
    """An unknown event or an unreadable file is named, and exit code 1."""
    dump(tmp_path, "anthropic", "new.chunks.txt", {"type": "message_start"}, {"type": "novelty"}, {"type": "novelty"})
    (tmp_path / "broken.yaml").write_text("words")
    result = CliRunner().invoke(app, ["eval", "wire", str(tmp_path)])

    assert result.exit_code == 1
    assert "event:novelty ×2" in result.stdout
    assert "broken.yaml" in result.stderr


def test_no_folder(tmp_path: Path, app: typer.Typer) -> None:
    """A folder that is not there is a usage error."""
    assert CliRunner().invoke(app, ["eval", "wire", str(tmp_path / "nowhere")]).exit_code == 2


def test_the_real_corpus() -> None:
    """Over all recordings of real traffic nothing of a built dialect fails and nothing is unknown."""
    corpus = next(
        (parent / "shared/data/wire" for parent in Path(__file__).parents if (parent / "shared/data/wire").is_dir()),
        None,
    )
    if corpus is None:
        pytest.skip("shared/data/wire is not beside this checkout")
    report = evaluate(corpus)
    anthropic = next(row for row in report["rows"] if row["what"] == "anthropic_messages")

    assert report["within_budget"], table(report)
    assert anthropic["exchanges"] == anthropic["folded"] > 250
