"""A streamed block put together."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore_proxy.wire.anthropic.assembly import BlockAssembly, implied_start


@pytest.mark.parametrize(
    ("start", "deltas", "block"),
    [
        (
            {"type": "text", "text": "a"},
            [{"type": "text_delta", "text": "b"}, {"type": "citations_delta", "citation": {"n": 1}}],
            {"type": "text", "text": "ab", "citations": [{"n": 1}]},
        ),
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [{"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "s"}],
            {"type": "thinking", "thinking": "hm", "signature": "s"},
        ),
        (
            {"type": "tool_use", "id": "t", "name": "n", "input": {}},
            [
                {"type": "input_json_delta", "partial_json": '{"a"'},
                {"type": "input_json_delta", "partial_json": ": 1}"},
            ],
            {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}},
        ),
        (
            {"type": "tool_use", "id": "t", "name": "n", "input": {}},
            [{"type": "input_json_delta", "partial_json": '{"a'}],
            {"type": "tool_use", "id": "t", "name": "n", "input": '{"a'},
        ),
        (
            {"type": "compaction", "content": None},
            [{"type": "compaction_delta", "content": "so far"}],
            {"type": "compaction", "content": "so far"},
        ),
    ],
)
def test_blocks(start: dict[str, Any], deltas: list[dict[str, Any]], block: dict[str, Any]) -> None:
    """A block is its start and its deltas; asking for it twice changes nothing."""
    assembly = BlockAssembly(start)

    assert all([assembly.add(delta) for delta in deltas])
    assert assembly.block() == block
    assert assembly.block() == block


def test_an_unknown_delta() -> None:
    """A delta of an unknown type is refused and leaves the block as it was."""
    assembly = BlockAssembly({"type": "text", "text": "a"})

    assert not assembly.add({"type": "photon_delta"})
    assert assembly.block() == {"type": "text", "text": "a"}


def test_a_start_that_was_never_seen() -> None:
    """A delta says what block it belongs to."""
    assert implied_start({"type": "thinking_delta"}) == {"type": "thinking"}
    assert implied_start({"type": "input_json_delta"})["type"] == "tool_use"
    assert implied_start({}) == {"type": "text"}
