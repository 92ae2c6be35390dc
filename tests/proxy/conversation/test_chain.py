"""Laying a request beside a known chain."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.conversation.chain import (
    DIGEST_BYTES,
    Alignment,
    Fit,
    align,
    chain_hash,
    common_prefix,
    length,
)


def chain(letters: str) -> bytes:
    """One message a letter."""
    return b"".join(letter.encode() * DIGEST_BYTES for letter in letters)


@pytest.mark.parametrize(
    ("known", "echo", "answered", "request_", "expected"),
    [
        ("uau", "b", 3, "uaubv", Alignment(Fit.CONTINUES, 4)),
        ("uau", "b", 3, "uauXv", Alignment(Fit.CONTINUES, 3)),  # the answer comes back altered
        ("uau", "", 2, "uau", Alignment(Fit.REPEATS, 3)),
        ("uau", "", 2, "uaV", Alignment(Fit.CONTINUES, 2)),  # the unanswered message has grown
        ("u", "", 0, "V", Alignment(Fit.CONTINUES, 0)),
        ("uaub", "c", 4, "uXubcv", Alignment(Fit.REWRITTEN, 5)),  # something old was blanked
        ("uaub", "", 4, "XXubv", Alignment(Fit.REWRITTEN, 4)),
        ("uaubv", "c", 5, "uaW", Alignment(Fit.DIVERGED, 2)),
        ("uaubv", "c", 5, "ua", Alignment(Fit.DIVERGED, 2)),
        ("ua", "b", 2, "S", Alignment(Fit.UNRELATED, 0)),
        ("", "", 0, "u", Alignment(Fit.CONTINUES, 0)),
    ],
)
def test_alignment(known: str, echo: str, answered: int, request_: str, expected: Alignment) -> None:
    """Each way a history can go on is told apart."""
    assert align(chain(known), chain(echo), answered, chain(request_)) == expected


LETTERS = st.text(alphabet="abc", max_size=12)


@given(LETTERS, LETTERS)
def test_the_common_prefix_is_the_longest(one: str, other: str) -> None:
    """As counted one by one."""
    expected = 0
    while expected < min(len(one), len(other)) and one[expected] == other[expected]:
        expected += 1

    assert common_prefix(chain(one), chain(other)) == expected


@given(LETTERS, st.text(alphabet="xyz", min_size=1, max_size=4))
def test_what_grows_continues(known: str, more: str) -> None:
    """New messages after all known ones are all that is new, whatever came before."""
    assert align(chain(known), b"", 0, chain(known + more)) == Alignment(Fit.CONTINUES, len(known))


@given(LETTERS, st.integers(0, 12))
def test_the_hash_of_a_beginning_does_not_depend_on_what_follows(letters: str, count: int) -> None:
    """The same first messages give the same hash."""
    assert chain_hash(chain(letters), count) == chain_hash(chain(letters[:count]))
    assert length(chain(letters)) == len(letters)


def test_digests_are_only_found_where_messages_begin() -> None:
    """Bytes that happen to stand across two messages are none."""
    known = bytes(range(32))
    shifted = b"\xff" * 8 + known + b"\xff" * 8

    assert align(known, b"", 2, shifted).fit is Fit.UNRELATED
