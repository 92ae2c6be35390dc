"""An exchange as an inference."""

from dataclasses import replace

import pytest

from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.inference import MARKED_BYTES, Seen
from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.response import WireResponse
from support.conversing import Play, call, user


def test_the_inference_says_what_the_wire_said() -> None:
    """Model, times, sizes, usage, and only the messages that are new."""
    play = Play().say(user("go"))
    found = play.ask("ok", call("t1", "ls"), headers={"x-client-request-id": "c-1"}).inference
    exchange = play.exchanges[0]

    assert (found.provider, found.operation, found.request_model) == ("anthropic", "chat", "claude-sonnet-4-5")
    assert (found.start_time_ns, found.end_time_ns) == (exchange.start_time_ns, exchange.end_time_ns)
    assert found.first_chunk_time_ns == exchange.first_chunk_time_ns
    assert (found.response_id, found.client_request_id, found.finish_reasons) == ("msg_01", "c-1", ("tool_call",))
    assert found.request_bytes == len(exchange.request_body) and found.response_bytes == len(exchange.response_body)
    assert (found.server_address, found.server_port, found.status_code) == ("api.anthropic.com", 443, 200)
    assert found.usage.input_tokens == 10 and found.parameters.max_tokens == 32_000


@pytest.mark.parametrize(
    ("end", "expected"),
    [(End.CLIENT_GONE, "client_gone"), (End.UPSTREAM_UNREACHABLE, "connection")],
)
def test_a_cut_answer_says_who_cut_it(end: End, expected: str) -> None:
    """The client's own going away is no fault of the provider's."""
    found = Play().say(user("go")).fail(None, end=end).inference

    assert found.error is not None and found.error.type == expected


@pytest.mark.parametrize("at", [0, 9, -1])
def test_bodies_are_told_apart_by_their_ends(at: int) -> None:
    """A short body by every byte of it; a long one, whose messages have digests, by its length and what is around."""
    for size in (10, 3 * MARKED_BYTES):
        body = bytearray(b"x" * size)
        same = mark(bytes(body))
        body[at] = 7

        assert mark(bytes(body)) != same != mark(b"x" * (size + 1))
        assert mark(b"x" * size) == same


def mark(body: bytes) -> str:
    play = Play().say(user("go"))
    play.ask("ok")
    seen = Seen(
        replace(play.exchanges[0], request_body=body), None, WireResponse(), Identity(), Workplace(), Injected()
    )
    return seen.body_mark()
