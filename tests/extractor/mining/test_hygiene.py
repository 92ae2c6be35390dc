import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_extractor.mining.hygiene import is_mostly_pasted, prose, sentences, tells_of_own_doing


def test_pasted_lines_are_left_out() -> None:
    """A log, a diff, a prompt with its output: what is left is what the person wrote."""
    log = "❯ make test\n--- FAIL: TestA (0.01s)\n+ added line\nsrc/a.go:12: undefined: x"
    text = f"this is still wrong:\n\n{log}\n\nfix the import"

    assert prose(text) == "this is still wrong:\nfix the import"


def test_code_blocks_are_left_out() -> None:
    """A fenced block is quotation."""
    assert prose("use this\n```\nnever do that\n```\nplease") == "use this\nplease"


@pytest.mark.parametrize("text", ["ok, change in plan", "- keep the name\n- drop the prefix", "no"])
def test_short_prose_is_kept(text: str) -> None:
    """Ordinary short messages and lists are nobody's output."""
    assert prose(text) == text


def test_mostly_pasted() -> None:
    """Three log lines with a word are a paste; a sentence with one log line is not."""
    assert is_mostly_pasted("hm\n❯ make\n--- FAIL: A\nFAIL x\nok  \tpkg 0.1s")
    assert not is_mostly_pasted("the first part is not correct, see\n--- FAIL: A")


def test_sentences() -> None:
    """Split at ends of sentences and lines, ends kept."""
    assert sentences("No. Use make!\nWhy?") == ["No.", "Use make!", "Why?"]


@given(st.text())
def test_nothing_is_invented(text: str) -> None:
    """Every line of the prose is a line of the text."""
    lines = {line.strip() for line in text.splitlines()}

    assert all(line in lines for line in prose(text).splitlines())


@pytest.mark.parametrize(
    "words", ["I installed bun", "i've just started the db, try again", "done", "we ran it by hand"]
)
def test_own_doing(words: str) -> None:
    """The person did something."""
    assert tells_of_own_doing(words)


@pytest.mark.parametrize("words", ["look at a.py", "why not add it there?", "continue with the tests"])
def test_what_only_directs(words: str) -> None:
    """The agent is to do it."""
    assert not tells_of_own_doing(words)
