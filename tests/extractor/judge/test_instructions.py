from pathlib import Path

import pytest

from spanlore_extractor.judge.instructions import NAMES, PromptError, packaged, prompt, prompts


def test_the_users_own_version_wins(tmp_path: Path) -> None:
    """Where there is none, the packaged one is used."""
    assert prompt("judge", tmp_path) == packaged("judge")
    (tmp_path / "judge.md").write_text("mine")
    assert prompt("judge", tmp_path) == "mine"


@pytest.mark.parametrize("text", ["", " \n", "x" * 70_000])
def test_a_prompt_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    """With the file's name."""
    (tmp_path / "judge.md").write_text(text)
    with pytest.raises(PromptError, match=r"judge\.md"):
        prompt("judge", tmp_path)


def test_packaged_prompts_ask_to_refute_first() -> None:
    """And say that what is recorded is quotation."""
    text = packaged("judge")

    assert text.index("First try to refute") < text.index("`verdict`: `keep`")
    assert all("quotation" in packaged(name) for name in NAMES)


def test_an_agents_addition_follows_what_all_are_asked(tmp_path: Path) -> None:
    """Found by its file's name; other agents get nothing, and a name that is a path finds nothing."""
    (tmp_path / "judge.codex.md").write_text("apply_patch")
    found = prompts("judge", tmp_path)
    assert (found.general, found.added_for("codex")) == (packaged("judge"), "apply_patch")
    assert [found.added_for(name) for name in ("claude-code", "", "../judge.codex")] == ["", "", ""]
    assert prompts("judge", tmp_path / "nowhere").by_agent == {}
    (tmp_path / "judge.codex.md").write_text(" ")
    with pytest.raises(PromptError, match=r"judge\.codex\.md"):
        prompts("judge", tmp_path)
