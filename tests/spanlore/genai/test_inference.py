"""One decoded model call."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from spanlore.genai.inference import CallClass, Dialect, Inference, Usage


def test_what_is_not_known_is_none() -> None:
    """An inference with nothing but its times says nothing it does not know, and is not changed afterwards."""
    inference = Inference(Dialect.GEMINI, "gcp.gemini", "generate_content", None, 1, 2)

    assert inference.usage == Usage(None, None, None, None, None, None)
    assert (inference.response_model, inference.first_chunk_time_ns, inference.status_code, inference.error) == (
        None,
    ) * 4
    assert inference.is_complete
    with pytest.raises(FrozenInstanceError):
        inference.start_time_ns = 3  # type: ignore[misc]


def test_vocabularies_are_their_wire_words() -> None:
    """They stand in attributes and columns as they are spelled here."""
    assert f"{Dialect.ANTHROPIC_MESSAGES} {CallClass.COUNT_TOKENS}" == "anthropic_messages count_tokens"
