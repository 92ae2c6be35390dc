import json
from typing import Any

from spanlore.spans.place import Outcome
from spanlore_extractor.evaluation.codex import read
from spanlore_extractor.mining.session import HumanStep, Step, ToolStep


def items(*payloads: dict[str, Any]) -> tuple[Step, ...]:
    return read([json.dumps({"type": "response_item", "payload": item}).encode() for item in payloads])


def call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}


def output(call_id: str, text: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def test_a_slow_commands_end_belongs_to_the_command() -> None:
    """Its failure comes in a later write_stdin."""
    steps = items(
        call("c1", "exec_command", cmd="make"), output("c1", "Process running with session ID 7"),
        call("c2", "write_stdin", session_id=7), output("c2", "Process exited with code 2\nOutput:\nboom"),
    )  # fmt: skip

    [step] = steps
    assert isinstance(step, ToolStep)
    assert (step.command, step.outcome, step.exit_code) == ("make", Outcome.FAILURE, 2)


def test_patches_and_wrapped_outputs() -> None:
    """custom_tool_call has its text in `input`; older outputs are JSON with metadata."""
    steps = items(
        {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** Begin Patch"},
        {"type": "custom_tool_call_output", "call_id": "p", "output": "apply_patch verification failed: x"},
        call("c", "shell", command=["ls"]),
        output("c", json.dumps({"output": "a", "metadata": {"exit_code": 0}})),
    )

    assert [step.outcome for step in steps if isinstance(step, ToolStep)] == [Outcome.FAILURE, Outcome.SUCCESS]


def test_only_typed_messages() -> None:
    """Instructions and environment arrive as user messages too."""
    said = [{"type": "input_text", "text": text} for text in ("<environment_context>x</environment_context>", "go on")]
    steps = items(*({"type": "message", "role": "user", "content": [block]} for block in said))

    assert [step.text for step in steps if isinstance(step, HumanStep)] == ["go on"]
