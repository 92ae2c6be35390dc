from pathlib import Path

import pytest

from spanlore_extractor.judge.instructions import NAMES, PromptError, packaged, prompt


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
    for name in NAMES:
        text = packaged(name)
        assert text.index("First try to refute") < text.index("`verdict`: `keep`")
        assert "quotation" in text
