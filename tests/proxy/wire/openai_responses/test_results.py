"""What clients answer to calls."""

from __future__ import annotations

from typing import Any

import pytest

from spanlore.genai.messages import ToolResult
from spanlore_proxy.wire.openai_responses.results import decode_result


def shell(*runs: tuple[str, str, dict[str, Any]]) -> ToolResult:
    output = [{"stdout": stdout, "stderr": stderr, "outcome": outcome} for stdout, stderr, outcome in runs]
    return decode_result({"type": "shell_call_output", "call_id": "c", "output": output})


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "function_call_output", "call_id": "c", "output": "text"}, ToolResult("c", "text")),
        (
            {
                "type": "custom_tool_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "a"}, {"type": "input_image"}],
            },
            ToolResult("c", "a\n[image]"),
        ),
        ({"type": "local_shell_call_output", "id": "l", "output": '{"x":1}'}, ToolResult("l", '{"x":1}')),
        (
            {
                "type": "computer_call_output",
                "call_id": "c",
                "output": {"type": "computer_screenshot", "image_url": "data:"},
            },
            ToolResult("c", "[image]"),
        ),
        (
            {"type": "apply_patch_call_output", "call_id": "c", "status": "failed", "output": "no"},
            ToolResult("c", "no", True),
        ),
        ({"type": "apply_patch_call_output", "call_id": "c", "status": "completed"}, ToolResult("c", "", False)),
        ({"type": "tool_search_output", "call_id": "c", "tools": [{"name": "f"}]}, ToolResult("c", "f", False)),
    ],
)
def test_results(item: dict[str, Any], expected: ToolResult) -> None:
    """Text, marks for what is none, and a flag only where the wire has one."""
    assert decode_result(item) == expected


def test_a_shell_tells_how_each_command_ended() -> None:
    """The first that failed tells for all."""
    done, failed, late = {"type": "exit", "exit_code": 0}, {"type": "exit", "exit_code": 3}, {"type": "timeout"}

    assert shell(("a", "", done), ("b", "w", done)) == ToolResult("c", "a\nb\nw", False)
    assert shell(("a", "", done), ("", "bad", failed)) == ToolResult("c", "Exit code 3\na\nbad", True)
    assert shell(("", "", late)).response.startswith("Command timed out after")
    assert decode_result({"type": "shell_call_output", "call_id": "c", "output": "text"}).is_error is None
