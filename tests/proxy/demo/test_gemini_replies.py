"""The scripted model's Gemini answers, read by the proxy's own fold of that dialect."""

from typing import Any

from spanlore.genai.messages import Text, ToolCall
from spanlore_proxy.demo import gemini_replies
from spanlore_proxy.demo.prompt_cache import CacheUsage
from spanlore_proxy.demo.replies import Reply, Say, UseTool, settle
from spanlore_proxy.wire import gemini

REPLY = Reply((Say("I look. " * 9), UseTool("bash", {"command": "ls " * 20}), UseTool("bash", {"command": "pwd"})))
BODY = settle(REPLY, "gemini-2.5-pro", CacheUsage(70, 30, 0))


def test_json_and_stream_say_the_same() -> None:
    """Both forms fold to the same text, calls and usage."""
    document: dict[str, Any] = {}
    streamed = gemini.fold_response(b"".join(gemini_replies.events(BODY, document)), "text/event-stream", 200, False)
    whole = gemini.fold_response(gemini_replies.as_json(BODY, document), "application/json", 200, False)

    assert streamed.output == whole.output
    assert streamed.usage == whole.usage
    assert streamed.unknown_events == whole.unknown_events == ()
    text, *calls = whole.output[0].parts
    assert text == Text("I look. " * 9)
    assert [call.name for call in calls if isinstance(call, ToolCall)] == ["bash", "bash"]
    assert whole.usage.input_tokens == 100
