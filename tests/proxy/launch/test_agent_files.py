"""Agents' own files."""

import json
from pathlib import Path

import pytest

from spanlore_proxy.launch.agent_files import codex_config, gemini_auth, has_chatgpt_login, read_object


def test_home_is_where_codex_looks(tmp_path: Path) -> None:
    """`CODEX_HOME`, else `.codex` below HOME."""
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text('model = "m"')
    (tmp_path / "config.toml").write_text('model = "n"')

    assert codex_config({"HOME": str(tmp_path)}) == {"model": "m"}
    assert codex_config({"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}) == {"model": "n"}


@pytest.mark.parametrize("content", [b"", b"\xff", b"[1]", b"{", b"null"])
def test_broken_files_say_nothing(content: bytes, tmp_path: Path) -> None:
    """Whatever is wrong with an agent's file is for the agent to tell."""
    for name in ("config.toml", "auth.json", "settings.json"):
        (tmp_path / name).write_bytes(content)
    (tmp_path / ".gemini").symlink_to(tmp_path)
    environ = {"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path)}

    assert not has_chatgpt_login(environ)
    assert gemini_auth(environ) == ""
    assert read_object(tmp_path / "auth.json") == {}
    assert read_object(tmp_path / "missing") == {}
    assert "model" not in codex_config(environ)


@pytest.mark.parametrize(
    ("settings", "found"), [({"security": {"auth": {"selectedType": "x"}}}, "x"), ({"security": 1}, "")]
)
def test_gemini(settings: object, found: str, tmp_path: Path) -> None:
    """The login that is selected."""
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(settings))

    assert gemini_auth({"HOME": str(tmp_path)}) == found
