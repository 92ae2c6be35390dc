"""mini-swe-agent's trajectories."""

from __future__ import annotations

from spanlore.genai.messages import ToolCall
from spanlore.transcripts.events import Answered, Result, Said
from spanlore.transcripts.mini_swe_agent import read


def test_version_two_calls_a_tool() -> None:
    """The call's id is the provider's, and so is the answer's."""
    tool_call = {"id": "call_1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    extra = {"response": {"id": "chat_1", "created": 1775894266, "model": "m", "usage": {"prompt_tokens": 5}}}
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "look", "tool_calls": [tool_call], "extra": extra},
        {"role": "tool", "tool_call_id": "call_1", "content": "<returncode>0</returncode>"},
        {"role": "exit", "content": ""},
    ]
    found = read({"instance_id": "i", "info": {"mini_version": "2.0"}, "messages": messages})

    assert (found.session_id, found.version) == ("i", "2.0")
    assert [(type(event), event.mark.line) for event in found.events] == [
        (Said, 1),
        (Answered, 2),
        (Answered, 2),
        (Result, 3),
    ]
    call = found.events[2]
    assert isinstance(call, Answered) and call.part == ToolCall("call_1", "bash", {"command": "ls"})
    assert (call.answer, call.is_response_id, call.usage.input_tokens) == ("chat_1", True, 5)


def test_version_one_writes_a_fenced_command() -> None:
    """The result comes as a user message, and is not a person's."""
    messages = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "I look.\n```bash\nls -la\n```"},
        {"role": "user", "content": "<returncode>1</returncode>\n<output>x</output>"},
        {"role": "user", "content": "no, the other one"},
    ]
    found = read({"info": {}, "messages": messages})

    assert [type(event) for event in found.events] == [Said, Answered, Answered, Result, Said]
    call, result = found.events[2], found.events[3]
    assert isinstance(call, Answered) and call.part == ToolCall("step-1", "bash", {"command": "ls -la"})
    assert isinstance(result, Result) and result.result.id == "step-1"
