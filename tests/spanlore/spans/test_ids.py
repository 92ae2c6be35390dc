"""Deterministic ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spanlore.spans.ids import conversation_id_of, inference_span_id, tool_span_id, trace_id_of, turn_span_id

WORDS = st.text(st.characters(codec="utf-8"), max_size=10)


def test_ids_do_not_change_between_versions() -> None:
    """Spans of different versions of spanlore meet in one store: these values are for ever."""
    assert trace_id_of("c", "s").hex() == "d11ffc10975faf2760997c3dc54356ed"
    assert inference_span_id("c", "msg_1", 1).hex() == "9cab1ebeb349ba73"
    assert tool_span_id("c", "toolu_1").hex() == "e125289be787f541"
    assert turn_span_id("c", "s").hex() == "6168be706c4efc3b"
    assert conversation_id_of("s", "", "") == "5a433ebf7295c927"


def test_ids_of_different_kinds_never_meet() -> None:
    """The same words as a turn, an inference and a tool are three spans."""
    assert len({turn_span_id("c", "x"), tool_span_id("c", "x"), inference_span_id("c", "x", 1)}) == 3


@given(WORDS, WORDS, WORDS, WORDS)
def test_words_do_not_run_together(a: str, b: str, c: str, d: str) -> None:
    """("ab", "c") and ("a", "bc") differ; equal words agree; sizes are OpenTelemetry's."""
    first, second = trace_id_of(a, b), trace_id_of(c, d)

    assert (first == second) == ((a, b) == (c, d))
    assert (len(first), len(tool_span_id(a, b)), len(conversation_id_of(a, b, c))) == (16, 8, 16)


def test_attempts_are_spans_of_their_own() -> None:
    """A retry is another span of the same request."""
    assert inference_span_id("c", "m", 1) != inference_span_id("c", "m", 2)
