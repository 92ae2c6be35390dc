from pathlib import Path

import pytest

from spanlore_extractor.cli import speaker
from support.memory_commands import make_checkout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test stands in a repository of its own; its scope."""
    monkeypatch.chdir(tmp_path)
    return make_checkout(tmp_path)


@pytest.fixture(autouse=True)
def _a_person_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests: the commands in them are a person's, unless a test says otherwise."""
    monkeypatch.setattr(speaker, "_ancestors", lambda: iter(()))
    for name in ("SPANLORE_RUN_AGENT", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "AI_AGENT"):
        monkeypatch.delenv(name, raising=False)
