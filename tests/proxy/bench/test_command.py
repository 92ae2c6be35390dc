"""The command's whole way: rows, verdict, exit code."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from spanlore_proxy.bench import command


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_exit_code_is_the_verdict(is_kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts need not read the table; with --json the last line is the result."""
    asked: list[int] = []

    async def measure(folder: Path, requests: int, memories: int = 200, soaked: int = 0) -> dict[str, Any]:
        asked.extend((requests, memories, soaked))
        return {"bench": "proxy", "rows": [], "budgets": {}, "within_budget": is_kept}

    monkeypatch.setattr(command, "measure", measure)
    app = typer.Typer()
    command.register(app)
    done = CliRunner().invoke(app, ["bench", "proxy", "--requests", "30", "--memories", "5", "--soak", "--json"])

    assert done.exit_code == (0 if is_kept else 1)
    assert json.loads(done.stdout.splitlines()[-1])["within_budget"] is is_kept
    assert asked == [30, 5, command.SOAK_EXCHANGES]
