import json

from spanlore_proxy.demo.agent import Conversation, StreamedMessage, execute
from spanlore_proxy.demo.prompt_cache import CacheUsage
from spanlore_proxy.demo.replies import Reply, Say, Think, UseTool, settle


def test_streamed_message_is_put_together() -> None:
    """The events of a reply give the content of its JSON form."""
    body = settle(
        Reply((Think("hm"), Say("Hello. " * 9), UseTool("Bash", {"command": "ls"}))), "m", CacheUsage(1, 0, 0)
    )
    message = StreamedMessage()
    for data in body.events():
        message.take(json.loads(data.split(b"data: ")[1]))

    assert message.content == json.loads(body.as_json())["content"]
    assert message.is_complete
    assert message.stop_reason == "tool_use"


async def test_commands_really_run() -> None:
    """A failing command gives is_error and `Exit code N`, a working one its output."""
    failed = await execute({"id": "t1", "input": {"command": "echo gone; exit 3"}})
    worked = await execute({"id": "t2", "input": {"command": "echo fine"}})

    assert (failed["content"], failed["is_error"]) == ("Exit code 3\ngone", True)
    assert (worked["content"], worked["is_error"]) == ("fine", False)


def test_request_has_the_shape_of_claude_code() -> None:
    """Four system blocks, one breakpoint at the end of the newest message, the session in header and body."""
    conversation = Conversation("s1", "m", [{"role": "user", "content": [{"type": "text", "text": "hi"}]}])
    document = json.loads(conversation.body())

    assert len(document["system"]) == 4
    assert document["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in conversation.messages[-1]["content"][-1]
    assert conversation.headers()["x-claude-code-session-id"] == "s1"
    assert json.loads(document["metadata"]["user_id"])["session_id"] == "s1"
