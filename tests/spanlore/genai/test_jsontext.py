"""JSON as it comes over the wire."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai import jsontext

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_json_writes_is_read(value: object) -> None:
    """Well-formed JSON is read as it is, in either spelling of non-ASCII text."""
    assert jsontext.loads(json.dumps(value)) == value
    assert jsontext.loads(json.dumps(value, ensure_ascii=False).encode()) == value


def test_half_a_surrogate_pair() -> None:
    """Half an emoji becomes the replacement character; whole ones stay."""
    assert jsontext.loads(rb'{"a": "cut \ud83d", "b": "\ud83d\ude00"}') == {"a": "cut \ufffd", "b": "😀"}
    assert jsontext.loads('["\\udc00"]') == ["\ufffd"]


def test_bytes_that_are_no_utf8() -> None:
    """A broken character costs itself, not the document."""
    assert jsontext.loads(b'["a\xff"]') == ["a\ufffd"]


@pytest.mark.parametrize("text", [b"", b"{", b"nope", b"[" * 200_000, rb'["\ud83d"' + b"[" * 200_000])
def test_what_is_not_json(text: bytes) -> None:
    """Everything else is a ValueError, nesting beyond measure too."""
    with pytest.raises(ValueError, match=r"."):
        jsontext.loads(text)


def test_what_is_no_json_text_stays() -> None:
    """A half-written object stays text; what is parsed already stays as it is."""
    assert jsontext.parsed('{"a":1}') == {"a": 1}
    assert jsontext.parsed('{"a":') == '{"a":'
    assert jsontext.parsed({"a": 1}) == {"a": 1}


def test_partial() -> None:
    """The beginning of a JSON text gives what stands in it."""
    whole = '{"a": [1, 2, {"b": "häl'.encode()

    assert jsontext.loads_partial(whole) == {"a": [1, 2, {"b": "häl"}]}
    assert jsontext.loads_partial(whole[:-2]) == {"a": [1, 2, {"b": "h"}]}
    assert jsontext.loads_partial(b"<html>") is None
    assert jsontext.loads_partial("") is None


@pytest.mark.parametrize("number", ["9" * 30, "-" + "9" * 30, "18446744073709551615", "-9223372036854775808", "7"])
def test_numbers_that_can_be_written_again(number: str) -> None:
    """Integers beyond 64 bits become floats, cut or not (found by fuzzing)."""
    whole = jsontext.loads(f'{{"a":[{number}],"b":1}}')
    cut = jsontext.loads_partial(f'{{"a":[{number}],"b":')

    assert cut["a"] == whole["a"] and type(cut["a"][0]) is type(whole["a"][0])
    assert orjson.loads(orjson.dumps(cut)) == cut
    assert jsontext.loads_partial(f'{{"a":[{"9" * 400}],"b":') == {"a": [None]}
