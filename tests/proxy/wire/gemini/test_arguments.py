"""Function call arguments that are streamed in pieces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.gemini.arguments import StreamedArguments


def grown(*pieces: dict[str, Any]) -> Any:
    arguments = StreamedArguments()
    for piece in pieces:
        assert arguments.add(piece)
    return arguments.value


def test_places() -> None:
    """Objects and lists are made on the way."""
    assert grown(
        {"jsonPath": "$.recipe.steps[0].name", "stringValue": "cut"},
        {"jsonPath": "$.recipe.steps[1]", "numberValue": 2},
        {"jsonPath": "$['a b']", "boolValue": False},
        {"jsonPath": "$.none", "nullValue": None},
    ) == {"recipe": {"steps": [{"name": "cut"}, 2]}, "a b": False, "none": None}


def test_a_string_in_pieces() -> None:
    """It goes on as long as the piece before said so; else the value is set anew."""
    more = {"jsonPath": "$.a", "stringValue": "x", "willContinue": True}

    assert grown(more, more, {"jsonPath": "$.a", "stringValue": ""}) == {"a": "xx"}
    assert grown(more, {"jsonPath": "$.b", "stringValue": "y"}, {"jsonPath": "$.a", "stringValue": "z"})["a"] == "z"


@pytest.mark.parametrize("path", ["", "a", "$", "$.a[5]", "$.a[999999]"])
def test_places_that_there_are_not(path: str) -> None:
    """A piece without a place, or beyond the end of a list, is refused."""
    assert not StreamedArguments().add({"jsonPath": path, "stringValue": "x"})


@given(st.lists(st.tuples(st.text("$.[]'ab01", max_size=8), st.booleans())))
def test_no_path_raises(pieces: list[tuple[str, bool]]) -> None:
    """Whatever paths say."""
    arguments = StreamedArguments()
    for path, goes_on in pieces:
        arguments.add({"jsonPath": "$" + path, "stringValue": "x", "willContinue": goes_on})
    assert isinstance(arguments.value, dict)
