"""Span attributes as column values."""

from __future__ import annotations

import math

import pytest

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue
from spanlore_collector.store.attributes import (
    MAX_INT64,
    Attributes,
    count,
    finish_reason,
    maybe,
    number,
    signed,
    string,
    strings,
    tokens,
    usd,
    words,
)


@pytest.mark.parametrize(
    ("value", "written"),
    [("a", "a"), (True, "true"), (False, "false"), (3, "3"), (1.0, "1"), (0.5, "0.5"), (("a", "b"), '["a","b"]')],
)
def test_values_are_written_as_the_exporter_does(value: AttributeValue, written: str) -> None:
    """Booleans are lower case, whole doubles have no point, lists are JSON."""
    assert string(value) == written


def test_content_is_left_out_of_the_map() -> None:
    """Content and what a person typed are kept elsewhere."""
    attributes: Attributes = {gen_ai.INPUT_MESSAGES: "[]", lore.HUMAN_TEXT: "[]", gen_ai.TOOL_CALL_RESULT: "x", "a": 1}

    assert strings(attributes) == {"a": "1"}


@pytest.mark.parametrize(
    ("value", "read"),
    [(3, 3), ("12", 12), ("1e3", 1000), (2.9, 2), (True, None), ("x", None), (math.inf, None), (math.nan, None)],
)
def test_numbers_come_in_many_spellings(value: AttributeValue, read: int | None) -> None:
    """Text of digits counts, booleans and what is not finite do not."""
    assert number(value) == read


def test_what_a_column_cannot_hold_is_brought_to_its_bounds() -> None:
    """Nothing is refused for being too large or negative."""
    attributes: dict[str, AttributeValue] = {"big": 2**62, "minus": -5}

    assert count(attributes, "big", 255) == 255
    assert count(attributes, "minus") == 0
    assert count(attributes, "absent") == 0
    assert maybe(attributes, "minus") is None
    assert maybe(attributes, "big", 65_535) == 65_535
    assert maybe(attributes, "big") == 2**62 < MAX_INT64
    assert signed(attributes, "big") == 2**31 - 1
    assert signed(attributes, "minus") == -5
    assert signed(attributes, "absent") is None


def test_tokens_are_found_under_their_older_names() -> None:
    """The name of today wins; without it, older ones are read."""
    assert tokens({"gen_ai.usage.prompt_tokens": 7}, gen_ai.USAGE_INPUT_TOKENS) == 7
    assert tokens({"gen_ai.usage.prompt_tokens": 7, gen_ai.USAGE_INPUT_TOKENS: 9}, gen_ai.USAGE_INPUT_TOKENS) == 9
    assert tokens({"gen_ai.usage.cache_creation.input_tokens": 3}, gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS) == 3
    assert tokens({}, gen_ai.USAGE_OUTPUT_TOKENS) is None


def test_a_price_that_is_none_is_not_zero() -> None:
    """Not a number, too much, or not a number at all: no price."""
    assert usd({"c": 0.25}, "c") == 0.25
    assert [usd({"c": value}, "c") for value in (math.nan, 1e12, "1", True)] == [None] * 4
    assert usd({}, "c") is None


@pytest.mark.parametrize(
    ("value", "reason"),
    [(("stop", "length"), "stop"), ('["stop"]', "stop"), ("stop", "stop"), ((), ""), (None, ""), ("[", "[")],
)
def test_the_first_finish_reason(value: AttributeValue | None, reason: str) -> None:
    """Lists come as lists, as JSON text, or as a lone word."""
    assert finish_reason(value) == reason


def test_a_lone_word_is_a_list_of_one() -> None:
    """An absent one is an empty list."""
    assert (words(("a", "b")), words("a"), words(None)) == (("a", "b"), ("a",), ())
