import json

from spanlore_proxy.demo.prompt_cache import CacheUsage
from spanlore_proxy.demo.replies import Failure, Reply, Say, Think, UseTool, failure_json, settle

USAGE = CacheUsage(input_tokens=3, cache_read_tokens=20, cache_write_tokens=100)


def test_stream_and_document_say_the_same() -> None:
    """The stream, put together, is the content of the JSON form."""
    body = settle(Reply((Think("hm"), Say("Hello, world. " * 4), UseTool("Bash", {"command": "ls"}))), "m", USAGE)
    whole = json.loads(body.as_json())
    text = thinking = arguments = ""
    for event in (json.loads(data.split(b"data: ")[1]) for data in body.events()):
        delta = event.get("delta", {})
        text += delta.get("text", "")
        thinking += delta.get("thinking", "")
        arguments += delta.get("partial_json", "")

    assert whole["content"][0]["thinking"] == thinking
    assert whole["content"][1]["text"] == text
    assert whole["content"][2]["input"] == json.loads(arguments)


def test_usage_is_the_apis_split() -> None:
    """Input excludes what was read from or written to the cache, as the API counts."""
    usage = json.loads(settle(Reply((Say("x"),)), "m", USAGE).as_json())["usage"]

    assert (usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (
        3,
        20,
        100,
    )


def test_given_tool_id_is_kept() -> None:
    """A script may name its tool calls; others get fresh ids."""
    body = settle(Reply((UseTool("Bash", {}, id="toolu_known"), UseTool("Bash", {}))), "m", USAGE)

    assert body.tool_ids[0] == "toolu_known"
    assert body.tool_ids[1].startswith("toolu_01")


def test_failure_document() -> None:
    """An error names its type, its message and the request."""
    document = json.loads(failure_json(Failure(), "req_1"))

    assert document == {
        "type": "error",
        "error": {"type": "overloaded_error", "message": "Overloaded"},
        "request_id": "req_1",
    }
