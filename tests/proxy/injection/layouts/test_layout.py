"""The two ways to add text that dialects share."""

import orjson
import pytest

from spanlore_proxy.injection.layouts.layout import Piece, added, extended, text_block
from spanlore_proxy.injection.offsets import OffsetError, Spot


@pytest.mark.parametrize(
    ("content", "data"),
    [
        ([], b'{"type":"text","text":"a"},{"type":"text","text":"b"}'),
        ([1], b',{"type":"text","text":"a"},{"type":"text","text":"b"}'),
        ("", rb"a\n\nb"),
        ("s", rb"\n\na\n\nb"),
    ],
)
def test_a_content_is_extended_in_its_own_form(content: object, data: bytes) -> None:
    """A list by blocks, a text by more text after an empty line, unless there is nothing before it."""
    assert extended(("x",), content, ["a", "b"], text_block) == Piece(Spot(("x",)), data)


@pytest.mark.parametrize("content", [None, 1, {}, True])
def test_another_content_can_not_be_extended(content: object) -> None:
    """Nothing is made up for what is neither a text nor a list."""
    with pytest.raises(OffsetError):
        extended(("x",), content, ["a"], text_block)


@pytest.mark.parametrize("members", [{}, {"a": 1}])
def test_a_member_is_added_last(members: dict[str, int]) -> None:
    """With a comma where something stands before it."""
    piece = added((), members, "b", [2])
    whole = orjson.dumps(members)[:-1] + piece.data + b"}"

    assert orjson.loads(whole) == {**members, "b": [2]}
