from pathlib import Path

import pytest

from spanlore_proxy.demo.stage import Stage, StageError


def test_nothing_of_the_users_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys, proxies and settings of the caller stay outside; directories and ports are the stage's own."""
    for name in ("ANTHROPIC_API_KEY", "HTTPS_PROXY", "SPANLORE_CLICKHOUSE_URL", "CLAUDE_CONFIG_DIR"):
        monkeypatch.setenv(name, "the user's")
    stage = Stage("http://127.0.0.1:1")
    try:
        assert "the user's" not in stage.environment.values()
        assert stage.paths.state_dir == stage.base / "state"
        assert stage.environment["SPANLORE_PROXY_PORT"] == "0"
        assert stage.environment["SPANLORE_UPSTREAMS"] == "api.anthropic.com=http://127.0.0.1:1"
    finally:
        stage.base.rmdir()


def test_everything_is_removed_unless_kept(tmp_path: Path) -> None:
    """A stage that is not kept leaves no directory; a kept one leaves its project."""
    with Stage("http://127.0.0.1:1") as stage:
        assert (stage.project / ".git").is_dir()
    with Stage("http://127.0.0.1:1", keep=tmp_path / "kept") as kept:
        pass

    assert not stage.base.exists()
    assert (kept.project / "Makefile").exists()


def test_failing_command_tells_what_it_said(tmp_path: Path) -> None:
    """A command that fails ends the story with the end of its output; an old directory is refused."""
    with Stage("http://127.0.0.1:1", keep=tmp_path / "kept") as stage, pytest.raises(StageError, match="no-such"):
        stage.spanlore("no-such-command")
    with pytest.raises(StageError, match="exists already"), Stage("http://127.0.0.1:1", keep=tmp_path / "kept"):
        pass
