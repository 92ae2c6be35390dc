"""What a person wrote, without what they pasted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.harness.prose import prose


def test_pasted_lines_are_left_out() -> None:
    """A log, a diff, a prompt with its output: what is left is what the person wrote."""
    log = "❯ make test\n--- FAIL: TestA (0.01s)\n+ added line\nsrc/a.go:12: undefined: x"
    text = f"this is still wrong:\n\n{log}\n\nfix the import"

    assert prose(text) == "this is still wrong:\nfix the import"


def test_code_blocks_are_left_out() -> None:
    """A fenced block is quotation."""
    assert prose("use this\n```\nnever do that\n```\nplease") == "use this\nplease"


def test_a_command_over_several_lines_is_left_out() -> None:
    """A line that ends in a space and a backslash goes on; a path of Windows does not."""
    assert prose("start it:\ndocker run \\\nwhy?") == "start it:\nwhy?"
    assert prose("it is in C:\\shop\\") == "it is in C:\\shop\\"


@pytest.mark.parametrize("text", ["ok, change in plan", "- keep the name\n- drop the prefix", "no"])
def test_short_prose_is_kept(text: str) -> None:
    """Ordinary short messages and lists are nobody's output."""
    assert prose(text) == text


@given(st.text())
def test_nothing_is_invented(text: str) -> None:
    """Every line of the prose is a line of the text."""
    lines = {line.strip() for line in text.splitlines()}

    assert all(line in lines for line in prose(text).splitlines())
