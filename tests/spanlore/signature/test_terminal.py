"""What a terminal shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.signature.terminal import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[1;31merror\x1b[0m: no", "error: no"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("10 %\r50 %\rdone\nnext", "done\nnext"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b[2K\x1b[1Gx", "x"),
    ],
)
def test_control_characters_are_gone(text: str, shown: str) -> None:
    """Colours, titles, links, moves, and lines that were written over."""
    assert plain(text) == shown


@given(st.text(st.characters(exclude_characters="\x1b\r")))
def test_other_text_stays(text: str) -> None:
    """Byte for byte."""
    assert plain(text) == text
