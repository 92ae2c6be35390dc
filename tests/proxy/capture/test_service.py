import json
from pathlib import Path

from spanlore.semconv import gen_ai, lore
from support.capture_client import post, tunnelled
from support.capture_proxy import CREDENTIALS, HOST, REPOSITORY, running_proxy
from support.capture_upstream import answering, api_server

REQUEST = {
    "model": "claude-opus-5-5",
    "max_tokens": 100,
    "messages": [{"role": "user", "content": "say hello"}],
    "tools": [{"name": "Bash", "description": "runs", "input_schema": {"type": "object"}}],
}
MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "hello"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 5},
}


async def test_an_exchange_becomes_a_span(tmp_path: Path) -> None:
    """A request through the proxy arrives at the collector as a chat span of its run."""
    body = json.dumps(REQUEST).encode()
    async with (
        api_server(answering(json.dumps(MESSAGE).encode())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        answer = await connection.ask(post(body, "x-api-key: sk-ant-api03-test", "user-agent: claude-cli/2.1.332"))
        (chat,) = await proxy.collector.chats(1)

    assert json.loads(answer.body) == MESSAGE
    assert api.received[0].body == body
    assert chat.attributes[lore.REPOSITORY] == REPOSITORY
    assert chat.attributes[gen_ai.USAGE_OUTPUT_TOKENS] == 5
