"""The scripted model's OpenAI Chat answers, read by the proxy's own fold of that dialect."""

import json

from spanlore.genai.messages import Text, ToolCall
from spanlore_proxy.demo import openai_chat_replies
from spanlore_proxy.demo.prompt_cache import CacheUsage
from spanlore_proxy.demo.replies import Reply, Say, UseTool, settle
from spanlore_proxy.wire import openai_chat

REPLY = Reply((Say("I look. " * 9), UseTool("bash", {"command": "ls " * 20}), UseTool("bash", {"command": "pwd"})))
BODY = settle(REPLY, "gpt-4.1", CacheUsage(70, 30, 0))


def test_json_and_stream_say_the_same() -> None:
    """Both forms fold to the same text, calls and usage."""
    document = {"stream_options": {"include_usage": True}}
    streamed = openai_chat.fold_response(
        b"".join(openai_chat_replies.events(BODY, document)), "text/event-stream", 200, False
    )
    whole = openai_chat.fold_response(openai_chat_replies.as_json(BODY, document), "application/json", 200, False)

    assert streamed.output == whole.output
    assert streamed.usage == whole.usage
    assert streamed.unknown_events == whole.unknown_events == ()
    text, *calls = whole.output[0].parts
    assert text == Text("I look. " * 9)
    assert [call.name for call in calls if isinstance(call, ToolCall)] == ["bash", "bash"]
    assert whole.usage.input_tokens == 100


def test_some_apis_send_a_call_in_one_piece() -> None:
    """As Mistral's does: the same answer, and each call with its name in a single chunk."""
    document = {"model": "devstral-2", "stream_options": {"include_usage": True}}
    events = list(openai_chat_replies.events(BODY, document))
    folded = openai_chat.fold_response(b"".join(events), "text/event-stream", 200, False)

    whole = openai_chat.fold_response(openai_chat_replies.as_json(BODY, document), "application/json", 200, False)
    assert folded.output == whole.output
    assert sum(b'"tool_calls":[' in event for event in events) == 2


def test_usage_comes_only_when_asked_for() -> None:
    """Without `include_usage` no chunk of the stream holds usage."""
    chunks = [event[6:] for event in openai_chat_replies.events(BODY, {}) if event != openai_chat_replies.DONE]

    assert not any("usage" in json.loads(chunk) for chunk in chunks)
