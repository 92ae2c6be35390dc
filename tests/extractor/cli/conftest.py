from pathlib import Path

import pytest

from support.memory_commands import make_checkout


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test stands in a repository of its own; its scope."""
    monkeypatch.chdir(tmp_path)
    return make_checkout(tmp_path)
