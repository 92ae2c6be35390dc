import pytest

from spanlore_extractor.mining.hygiene import is_mostly_pasted, sentences, tells_of_own_doing


def test_mostly_pasted() -> None:
    """Three log lines with a word are a paste; a sentence with one log line is not."""
    assert is_mostly_pasted("hm\n❯ make\n--- FAIL: A\nFAIL x\nok  \tpkg 0.1s")
    assert not is_mostly_pasted("the first part is not correct, see\n--- FAIL: A")


def test_sentences() -> None:
    """Split at ends of sentences and lines, ends kept."""
    assert sentences("No. Use make!\nWhy?") == ["No.", "Use make!", "Why?"]


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
