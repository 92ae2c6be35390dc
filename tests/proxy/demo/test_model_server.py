import http.client
import json
import time
from typing import Any, cast

import aiohttp

from support.messages_api import infer, request_document, send
from support.model_server import Failure, ModelServer, Raw, Reply, Say, UseTool


def test_json_reply_has_the_shape_of_the_api() -> None:
    """Without `stream` the whole message comes as JSON, with ids, a stop reason and a request id header."""
    with ModelServer(lambda _: Reply((Say("Hello."), UseTool("Bash", {"command": "ls"})))) as server:
        response = infer(server.port, request_document("hi"))

    message = response.json()
    assert message["content"][0] == {"type": "text", "text": "Hello."}
    assert message["content"][1]["input"] == {"command": "ls"}
    assert message["stop_reason"] == "tool_use"
    assert message["usage"]["input_tokens"] > 0
    assert response.headers["request-id"] == server.requests[0].request_id


def test_stream_is_whole_at_any_chunk_size() -> None:
    """However the stream is cut into chunks, its events are the same."""
    texts = []
    for size in (None, 1, 7, 4096):
        with ModelServer(lambda _, size=size: Reply((Say("All tests pass. " * 5),), chunk_bytes=size)) as server:  # type: ignore[misc]
            events = infer(server.port, request_document("hi", stream=True)).events()
        texts.append("".join(event["delta"]["text"] for event in events if event["type"] == "content_block_delta"))
        assert events[0]["type"] == "message_start"
        assert events[-1]["type"] == "message_stop"

    assert texts == ["All tests pass. " * 5] * 4


def test_parallel_tools_stream_as_blocks_of_their_own() -> None:
    """Several tool calls of one reply have ids of their own and arguments that come in pieces."""
    calls = (UseTool("Bash", {"command": "a" * 60}), UseTool("Bash", {"command": "b"}))
    with ModelServer(lambda _: Reply(calls)) as server:
        events = infer(server.port, request_document("hi", stream=True)).events()

    starts = [event["content_block"] for event in events if event["type"] == "content_block_start"]
    pieces = [event["delta"]["partial_json"] for event in events if event.get("delta", {}).get("partial_json")]
    assert len({start["id"] for start in starts}) == 2
    assert json.loads("".join(pieces[:-1])) == {"command": "a" * 60}


def test_log_keeps_exact_bytes_and_headers() -> None:
    """The log holds the body as it came, content encoding and odd spacing included."""
    body = b'{ "messages":[ {"role":"user","content":"hi"} ] }'
    with ModelServer(lambda _: None) as server:
        send(server.port, "/v1/messages", body, {"X-Odd": "Value"})

    assert server.requests[0].body == body
    assert server.requests[0].header("x-odd") == "Value"


def test_stream_can_be_cut() -> None:
    """A cut stream ends before message_stop."""
    with ModelServer(lambda _: Reply((Say("x" * 400),), cut_after_events=4)) as server:
        response = infer(server.port, request_document("hi", stream=True))

    assert response.status == 200
    assert all(event["type"] != "message_stop" for event in response.events())


def test_errors_come_in_the_shape_of_the_api() -> None:
    """A failure has its status, headers and the provider's error document; invalid JSON is a 400."""
    with ModelServer(lambda _: Failure(headers=(("retry-after", "1"),))) as server:
        overloaded = infer(server.port, request_document("hi"))
        invalid = send(server.port, "/v1/messages", b'{"messages": [')

    assert (overloaded.status, overloaded.headers["retry-after"]) == (529, "1")
    assert overloaded.json()["error"]["type"] == "overloaded_error"
    assert (invalid.status, invalid.json()["error"]["type"]) == (400, "invalid_request_error")


def test_side_calls_are_answered_without_the_script() -> None:
    """count_tokens counts, Claude Code's own endpoints give empty JSON, everything else is a 404 document."""
    with ModelServer(lambda _: Raw(b"never", 500)) as server:
        count = send(server.port, "/v1/messages/count_tokens", json.dumps(request_document("hi")).encode())
        settings = send(server.port, "/api/claude_code/settings")
        unknown = send(server.port, "/v9/else")

    assert count.json()["input_tokens"] > 0
    assert (settings.status, settings.json()) == (200, {})
    assert (unknown.status, unknown.json()["error"]["type"]) == (404, "not_found_error")
    assert server.inferences == ()


def test_client_that_leaves_is_noticed() -> None:
    """A client that goes away in mid-stream is in the list of the deserted, and the server lives on."""
    with ModelServer(lambda _: Reply((Say("x" * 4000),), event_delay_s=0.01)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300)
        connection.request("POST", "/v1/messages", json.dumps(request_document("hi", stream=True)))
        connection.getresponse().read(10)
        connection.sock.close()
        connection.close()
        deadline = time.monotonic() + 120
        while not server.deserted and time.monotonic() < deadline:
            time.sleep(0.02)

    assert server.deserted == [server.requests[0].request_id]


def test_cache_usage_grows_with_the_history() -> None:
    """A history that is resent with a breakpoint at its end is read from the cache the second time."""
    mark = {"cache_control": {"type": "ephemeral"}}
    first = request_document("a" * 400, system=[{"type": "text", "text": "s" * 800, **mark}])
    with ModelServer(lambda _: None) as server:
        before = infer(server.port, first).json()["usage"]
        after = infer(server.port, first).json()["usage"]

    assert before["cache_creation_input_tokens"] > 0
    assert before["cache_read_input_tokens"] == 0
    assert after["cache_read_input_tokens"] == before["cache_creation_input_tokens"]


async def test_responses_over_a_websocket() -> None:
    """Warmed up, then one message with the whole input, then only what is new: the log holds what the model would get,
    and a response that nobody gave is refused."""
    reply = Reply((Say("I look."), UseTool("shell", {"cmd": "ls"})))
    with ModelServer(lambda _: reply) as server:
        async with (
            aiohttp.ClientSession() as client,
            client.ws_connect(f"{server.url}/v1/responses", compress=15) as ws,
        ):

            async def ask(**fields: Any) -> dict[str, Any]:
                await ws.send_json({"type": "response.create", "model": "m", **fields})
                while (event := await ws.receive_json())["type"] not in ("response.completed", "error"):
                    pass
                return cast("dict[str, Any]", event)

            warm = await ask(input=[], generate=False)
            first = await ask(input=["a"], previous_response_id=warm["response"]["id"])
            await ask(input=["b"], previous_response_id=first["response"]["id"])
            refused = await ask(input=["c"], previous_response_id="nobody's")
        requests = list(server.requests)

    assert (warm["response"]["output"], len(first["response"]["output"])) == ([], 2)
    assert [(request.document or {})["input"] for request in requests] == [
        [],
        ["a"],
        ["a", *first["response"]["output"], "b"],
    ]
    assert json.loads(requests[2].frame)["input"] == ["b"]
    assert refused["error"]["type"] == "previous_response_not_found"
