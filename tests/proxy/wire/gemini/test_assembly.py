"""A candidate put together from chunks."""

from __future__ import annotations

from typing import Any

from spanlore_proxy.wire.gemini.assembly import CandidateAssembly


def assemble(*parts: dict[str, Any]) -> CandidateAssembly:
    candidate = CandidateAssembly()
    for part in parts:
        candidate.take({"content": {"parts": [part]}})
    return candidate


def test_texts_are_joined() -> None:
    """Neighbours of one kind are one part; a signature ends it."""
    candidate = assemble(
        {"text": "h", "thought": True},
        {"text": "m", "thought": True},
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s"},
        {"text": "c"},
    )

    assert candidate.parts() == [
        {"text": "hm", "thought": True},
        {"text": "ab", "thoughtSignature": "s"},
        {"text": "c"},
    ]


def test_calls_stay_apart() -> None:
    """Two whole calls in two chunks are two calls."""
    first, second = {"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "f", "args": {"a": 1}}}

    assert assemble(first, second).parts() == [first, second]


def test_a_call_in_pieces() -> None:
    """A name, pieces of arguments, an end: one call; the next name begins another."""
    piece = {"jsonPath": "$.a", "stringValue": "x"}
    candidate = assemble(
        {"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "s"},
        {"functionCall": {"partialArgs": [piece], "willContinue": True}},
        {"functionCall": {}},
        {"functionCall": {"name": "g", "willContinue": True}},
    )

    assert candidate.parts() == [
        {"functionCall": {"name": "f", "args": {"a": "x"}}, "thoughtSignature": "s"},
        {"functionCall": {"name": "g", "args": {}}},
    ]
    assert candidate.unknown == []


def test_what_is_not_known_is_named() -> None:
    """Parts of an unknown kind and pieces without a place."""
    candidate = assemble(
        {"new": 1}, {"functionCall": {"name": "f", "partialArgs": [{"stringValue": "x"}], "willContinue": True}}
    )

    assert candidate.unknown == ["part:new", "part:partialArgs"]


def test_the_last_reason_counts() -> None:
    """Older models give a reason with every chunk."""
    candidate = CandidateAssembly()
    candidate.take({"finishReason": "STOP"})
    candidate.take({"finishReason": "MAX_TOKENS"})
    candidate.take({"content": None})

    assert (candidate.finish_reason, candidate.parts()) == ("MAX_TOKENS", [])
