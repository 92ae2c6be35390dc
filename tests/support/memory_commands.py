"""The extractor's commands called against a running collector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner, Result

from spanlore_extractor.cli.app import commands
from support.collecting import Collecting


def make_checkout(folder: Path) -> str:
    """A repository in the folder, with a remote of its own; its scope."""
    scope = f"example.org/{folder.name.replace('_', '-').lower()}/app"
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = https://{scope}.git\n')
    return scope


def spanlore(collector: Collecting, *arguments: str, typed: str | None = None) -> Result:
    """One command; `typed` is its standard input."""
    app = typer.Typer()
    commands(app)
    return CliRunner().invoke(app, arguments, env=collector.environment, input=typed)


def data(collector: Collecting, *arguments: str, typed: str | None = None) -> Any:
    """What it answers with --json; it must succeed."""
    result = spanlore(collector, *arguments, "--json", typed=typed)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)
