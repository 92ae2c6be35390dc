"""The scripted model's Responses answers, read by the proxy's own fold of that dialect."""

from typing import Any

from spanlore.genai.messages import Text, ToolCall
from spanlore_proxy.demo import openai_responses_replies
from spanlore_proxy.demo.prompt_cache import CacheUsage
from spanlore_proxy.demo.replies import Reply, Say, UseTool, settle
from spanlore_proxy.wire import openai_responses

REPLY = Reply((Say("I look. " * 9), UseTool("bash", {"command": "ls " * 20}), UseTool("bash", {"command": "pwd"})))
BODY = settle(REPLY, "gpt-5.4", CacheUsage(70, 30, 0))


def test_json_and_stream_say_the_same() -> None:
    """Both forms fold to the same text, calls and usage."""
    document: dict[str, Any] = {}
    streamed = openai_responses.fold_response(
        b"".join(openai_responses_replies.events(BODY, document)), "text/event-stream", 200, False
    )
    whole = openai_responses.fold_response(
        openai_responses_replies.as_json(BODY, document), "application/json", 200, False
    )

    assert streamed.output == whole.output
    assert streamed.usage == whole.usage
    assert streamed.unknown_events == whole.unknown_events == ()
    text, *calls = whole.output[0].parts
    assert text == Text("I look. " * 9)
    assert [call.name for call in calls if isinstance(call, ToolCall)] == ["bash", "bash"]
    assert whole.usage.input_tokens == 100


def test_tool_that_takes_free_text_is_called_with_it() -> None:
    """A tool offered as custom, also in an item of the input as Codex does, gets its input as it stands."""
    tools = {"type": "additional_tools", "role": "developer", "tools": [{"type": "custom", "name": "exec"}]}
    body = settle(Reply((UseTool("exec", {"input": "text(1)"}),)), "gpt-6.2-sol", CacheUsage(1, 0, 0))
    answer = b"".join(openai_responses_replies.events(body, {"input": [tools]}))
    (call,) = openai_responses.fold_response(answer, "text/event-stream", 200, False).output[0].parts

    assert isinstance(call, ToolCall)
    assert (call.name, call.arguments) == ("exec", "text(1)")
