import json

from spanlore.spans.place import Outcome
from spanlore_extractor.evaluation.trajectories import read_gemini, read_mini, read_pi, read_swe
from spanlore_extractor.mining.session import HumanStep, ToolStep


def test_pi() -> None:
    """Roles user, assistant, toolResult; an aborted answer is an interruption."""
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "bash",
        "arguments": {"command": "x"}}]},
        {"role": "toolResult", "toolCallId": "a", "content": [{"type": "text",
        "text": "no\n\nCommand exited with code 1"}], "isError": True},
        {"role": "assistant", "content": [], "stopReason": "aborted"},
        {"role": "user", "content": [{"type": "text", "text": "stop"}]},
    ]  # fmt: skip
    _, tool, last = read_pi([json.dumps({"type": "message", "message": message}).encode() for message in messages])

    assert isinstance(tool, ToolStep) and (tool.outcome, tool.exit_code) == (Outcome.FAILURE, 1)
    assert isinstance(last, HumanStep) and last.is_interruption


def test_mini_swe_agent() -> None:
    """A call's id is its message's number."""
    messages = [
        {"role": "system", "content": "x"},
        {
            "role": "assistant",
            "tool_calls": [{"id": "q", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
        },
        {"role": "tool", "tool_call_id": "q", "content": "<returncode>0</returncode>"},
    ]
    [tool] = read_mini(json.dumps({"messages": messages}).encode())

    assert isinstance(tool, ToolStep) and (tool.tool_call_id, tool.outcome) == ("1", Outcome.SUCCESS)


def test_swe_agent() -> None:
    """Its own commands are tools, everything else is the shell; a traceback is a failure."""
    steps = [
        {"action": "edit 1:1\nx\nend_of_edit", "observation": "Your proposed edit has introduced new syntax error(s)"},
        {"action": "python a.py", "observation": "Traceback (most recent call last):\nKeyError: 'x'"},
    ]
    tools = read_swe(json.dumps({"trajectory": steps}).encode())

    assert [(tool.tool_name, tool.outcome) for tool in tools if isinstance(tool, ToolStep)] == [
        ("edit", Outcome.FAILURE),
        ("bash", Outcome.FAILURE),
    ]


def test_gemini() -> None:
    """A call carries its own result and status."""
    call = {"id": "a", "name": "run_shell_command", "args": {"command": "ls"}, "status": "error", "resultDisplay": "no"}
    messages = [{"type": "user", "content": "go"}, {"type": "gemini", "content": "ok", "toolCalls": [call]}]
    human, _, tool = read_gemini(json.dumps({"messages": messages}).encode())

    assert isinstance(human, HumanStep) and human.text == "go"
    assert isinstance(tool, ToolStep) and tool.outcome is Outcome.FAILURE
