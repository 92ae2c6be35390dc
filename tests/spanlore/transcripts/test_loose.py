"""Untyped JSON read without raising."""

from __future__ import annotations

import pytest

from spanlore.transcripts.loose import Lines, mapping, nanoseconds, number, objects, string, text_of


def test_wrong_types_read_as_empty() -> None:
    """A value of another type is as if it were not there."""
    assert (mapping([1]), objects({"a": 1}), string(3), number("3"), number(True)) == ({}, [], "", None, None)
    assert objects([{"a": 1}, 2, None]) == [{"a": 1}]


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-01-01T00:00:01.5Z", 1_767_225_601_500_000_000),
        (1_767_225_601, 1_767_225_601_000_000_000),
        (1_767_225_601_500, 1_767_225_601_500_000_000),
        ("yesterday", 0),
        (None, 0),
        (True, 0),
        ([], 0),
        (-1, 0),
        (1e308, 0),
        (float("inf"), 0),
        (float("nan"), 0),
    ],
)
def test_times(stamp: object, expected: int) -> None:
    """ISO text, seconds and milliseconds are told apart; anything else is no time."""
    assert nanoseconds(stamp) == expected


def test_numbers_that_nothing_counts() -> None:
    """What fits in no column is no number."""
    assert (number(3.0), number(-1), number(1e308), number(float("inf")), number(float("nan"))) == (3, *[None] * 4)


def test_text_is_found_in_any_nesting() -> None:
    """Strings, blocks, and blocks that hold blocks."""
    assert text_of([{"text": "a"}, {"content": [{"text": "b"}]}, 3, {"x": 1}]) == "a\nb"


def test_lines_are_counted_and_bad_ones_passed_over() -> None:
    """Two objects on one line both count; what is no object is malformed; numbers are those of the file."""
    lines = Lines(b'{"a":1}\n\nnot json\n{"b":2}{"c":3}\n[1]\n{"d":')

    assert list(lines) == [(0, {"a": 1}), (3, {"b": 2}), (3, {"c": 3})]
    assert (lines.count, lines.malformed) == (5, 3)
