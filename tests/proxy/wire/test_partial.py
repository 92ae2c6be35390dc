"""The beginning of a cut JSON document."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.partial import certain_beginning


def test_only_text_is_kept_half() -> None:
    """A half text is worth something; a half word, number or name is another one."""
    assert certain_beginning('{"a": 1, "text": "hal') == {"a": 1, "text": "hal"}
    assert certain_beginning('{"a": 1, "model": "gemini-2') == {"a": 1}
    assert certain_beginning('{"a": [1], "b": 12') == {"a": []}
    assert certain_beginning("nothing") is None


def test_members_that_may_not_be_half() -> None:
    """They are dropped whole, once the cut is in them."""
    assert certain_beginning('{"parts": [{"call": {"x": 1, "y', frozenset({"call"})) == {"parts": [{}]}
    assert certain_beginning('{"call": {"x": 1}, "text": "a', frozenset({"call"})) == {"call": {"x": 1}, "text": "a"}


@given(
    st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=4) | st.integers() | st.booleans())), st.integers(0)
)
def test_any_cut(document: dict[str, object], size: int) -> None:
    """Never an exception, whatever is cut where."""
    text = json.dumps(document)
    found = certain_beginning(text[: size % (len(text) + 1)])
    assert found is None or isinstance(found, dict)
