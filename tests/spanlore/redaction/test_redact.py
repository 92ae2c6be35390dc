"""The redactor as a whole."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.redaction.redact import Redacted, Redactor

REDACTOR = Redactor()
ALNUM = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG"
SECRETS = st.sampled_from(
    ["sk-" + ALNUM, "ghp_" + ALNUM[:36], "AKIA" + "IOSFODNN7EXAMPLE", "glpat-" + ALNUM[:20], "hf_" + ALNUM[:34]]
)
WORDS = st.sampled_from(
    [
        " ",
        "\n",
        "password=",
        '"',
        "'",
        "token: ",
        "://u:",
        "@h",
        "Bearer ",
        "key",
        "\\",
        "é",
        "☃",
        "x1",
        "[redacted:jwt]",
    ]
)


@given(st.lists(WORDS | SECRETS | st.text(max_size=5), max_size=12))
def test_redacting_twice_is_redacting_once(words: list[str]) -> None:
    """What is clean stays as it is, placeholders too."""
    once = REDACTOR.redact("".join(words))

    assert REDACTOR.redact(once.text) == Redacted(once.text, 0)


@given(st.text(max_size=60), SECRETS, st.text(max_size=60))
def test_no_planted_secret_survives(before: str, secret: str, after: str) -> None:
    """A secret between any two texts, set apart, is gone."""
    redacted = REDACTOR.redact(f"{before} {secret} {after}")

    assert secret not in redacted.text
    assert redacted.count >= 1


@given(st.text(alphabet=st.characters(exclude_characters=":=- "), max_size=200))
def test_text_without_a_secret_is_untouched(text: str) -> None:
    """Text in which nothing is assigned and nothing has an issuer's prefix comes back as it is."""
    assert REDACTOR.redact(text) == Redacted(text, 0)


def test_half_an_emoji_survives() -> None:
    """Text that is no valid UTF-8 is redacted like any other."""
    assert REDACTOR.redact("\ud83d password=hunter2").text == "\ud83d password=[redacted:password]"


def test_one_secret_known_twice_is_one() -> None:
    """A token that is also assigned to a name is counted once, under one name."""
    assert REDACTOR.redact("GH_TOKEN=ghp_" + ALNUM[:36]) == Redacted("GH_TOKEN=[redacted:github_token]", 1)


def test_the_users_patterns() -> None:
    """The user's own expressions are applied first, and never to a placeholder."""
    redactor = Redactor((r"CUST-\d+", r"\[redacted:.*?\]"))

    assert redactor.redact("CUST-1 and CUST-22, AKIA" + "IOSFODNN7EXAMPLE") == Redacted(
        "[redacted:custom] and [redacted:custom], [redacted:aws_access_key]", 3
    )
    assert redactor.redact("[redacted:custom]").text == "[redacted:custom]"


@pytest.mark.parametrize("pattern", ["(", "a*"])
def test_a_wrong_pattern(pattern: str) -> None:
    """An expression that is none, or that matches nothing at all, is refused by name."""
    with pytest.raises(ValueError, match="redaction pattern"):
        Redactor((pattern,))


def test_values() -> None:
    """JSON values are redacted string by string; a key says what its value is."""
    value = {"env": {"DB_PASSWORD": "hunter2", "n": 1}, "list": ["ghp_" + ALNUM[:36], None], "command": "ls"}

    assert REDACTOR.redact_value(value) == (
        {
            "env": {"DB_PASSWORD": "[redacted:password]", "n": 1},
            "list": ["[redacted:github_token]", None],
            "command": "ls",
        },
        2,
    )


def test_ordinary_text_costs_little() -> None:
    """Source code goes through at 20 MB/s and more; a fifth of that is asked for here."""
    text = "def token_of(self, key: str) -> str:  # see https://example.com/a\n    return self.tokens[key]\n" * 20_000
    began_s = time.thread_time()
    redacted = REDACTOR.redact(text)
    seconds = time.thread_time() - began_s

    assert redacted.count == 0
    assert len(text) / seconds > 4_000_000
