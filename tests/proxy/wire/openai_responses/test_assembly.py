"""Items put together from deltas, for where their end is missing."""

from __future__ import annotations

from typing import Any

from spanlore_proxy.wire.openai_responses.assembly import DELTAS, ItemAssembly, implied_start


def grown(start: dict[str, Any], *deltas: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    item = ItemAssembly(start)
    for type_, event in deltas:
        assert f"response.{type_}.delta" in DELTAS
        item.add(f"response.{type_}.delta", event)
    return item.item()


def test_texts_grow_part_by_part() -> None:
    """By their index, whatever the order."""
    item = grown(
        {"type": "message", "content": []},
        ("output_text", {"content_index": 1, "delta": "c"}),
        ("output_text", {"content_index": 0, "delta": "a"}),
        ("output_text", {"content_index": 0, "delta": "b"}),
        ("refusal", {"content_index": 2, "delta": "no"}),
    )

    assert item["content"] == [
        {"type": "output_text", "text": "ab"},
        {"type": "output_text", "text": "c"},
        {"type": "refusal", "refusal": "no"},
    ]


def test_what_was_spoken_grows() -> None:
    """The words of a spoken answer, under both names that the API has had for them."""
    for name in ("output_audio_transcript", "audio_transcript"):
        item = grown({"type": "message"}, (name, {"content_index": 0, "delta": "he"}), (name, {"delta": "llo"}))

        assert item["content"] == [{"type": "output_audio", "transcript": "hello"}]


def test_thinking_arguments_commands_and_patches_grow() -> None:
    """Each in its own place of the item."""
    thought = grown({"type": "reasoning"}, ("reasoning_summary_text", {"summary_index": 0, "delta": "hm"}))
    call = grown({"type": "function_call", "arguments": ""}, ("function_call_arguments", {"delta": '{"a"'}))
    shell = grown({"action": {"timeout_ms": 1}}, ("shell_call_command", {"command_index": 0, "delta": "ls"}))
    patch = grown({"operation": {"path": "a"}}, ("apply_patch_call_operation_diff", {"delta": "+x"}))

    assert thought["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert call["arguments"] == '{"a"'
    assert shell["action"] == {"timeout_ms": 1, "commands": ["ls"]}
    assert patch["operation"] == {"path": "a", "diff": "+x"}


def test_the_whole_item_counts() -> None:
    """Once it is here, its pieces do not."""
    item = ItemAssembly({"type": "message"})
    item.add("response.output_text.delta", {"delta": "x"})
    item.finish({"type": "message", "content": "whole"})

    assert item.item() == {"type": "message", "content": "whole"}


def test_a_delta_alone_says_what_it_belongs_to() -> None:
    """Where the item's own start was never seen."""
    assert implied_start("response.custom_tool_call_input.delta")["type"] == "custom_tool_call"
    assert implied_start("response.output_text.delta")["role"] == "assistant"
