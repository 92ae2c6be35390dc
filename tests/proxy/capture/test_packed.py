import dataclasses
import random

import orjson
import pytest

from spanlore_proxy.capture.captured import Asked, Captured, request_exchange
from spanlore_proxy.capture.packed import MIN_BYTES, Packed, pack, thin, unpack
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert
from spanlore_proxy.wire.codecs import read_request
from spanlore_proxy.wire.history import Histories
from support.capture_exchanges import captured
from support.capture_messages import request_body

WORDS = ["path", "module", "error", "build", "test", "cache", "value"]


def long_body() -> bytes:
    chance = random.Random(1)
    return request_body(" ".join(chance.choices(WORDS, k=MIN_BYTES)))


def read(body: bytes) -> Captured:
    """An exchange with something inserted, as the addon hands it over."""
    plain = captured(body)
    request = read_request(body, plain.head.endpoint)
    exchange = request_exchange(plain.head, body)
    done = insert(body, request, [Addition(SYSTEM, "remembered")])
    asked = Asked(exchange, request, identify(exchange, request, plain.head.endpoint))
    return dataclasses.replace(plain, forwarded_body=done.body, insertions=done.insertions, asked=asked)


def same(one: Captured, other: Captured) -> bool:
    assert one.tap is not None and other.tap is not None
    first, second = (
        (tap.body(), tap.size_bytes, tap.first_chunk_time_ns, tap.last_chunk_time_ns) for tap in (one.tap, other.tap)
    )
    return first == second and dataclasses.replace(one, tap=None) == dataclasses.replace(other, tap=None)


def test_what_waits_is_small_and_comes_back_as_it_was() -> None:
    """Bodies byte for byte, the insertion at its place, the request read again, the same agent, the answer's times."""
    before = read(long_body())
    packed = pack(before)

    assert isinstance(packed, Packed)
    assert packed.size_bytes < before.size_bytes / 8
    assert same(unpack(packed), before)


def test_what_waits_to_be_packed_is_half_of_it_at_once() -> None:
    """Before anything is compressed: one body instead of two, none of it parsed; and it can be read as it stands."""
    before = read(long_body())
    thinned = thin(before)

    assert isinstance(thinned, Packed)
    assert thinned.sent is before.sent_body
    assert thinned.size_bytes < before.size_bytes / 3
    assert same(unpack(thinned), before)
    packed = pack(thinned)
    assert isinstance(packed, Packed)
    assert packed.size_bytes < thinned.size_bytes / 3
    assert same(unpack(packed), before)
    assert pack(packed) is packed


def test_an_untouched_body_stays_the_same_object() -> None:
    """By that it is told that nothing was inserted."""
    packed = pack(captured(long_body()))
    assert isinstance(packed, Packed)
    after = unpack(packed)

    assert after.forwarded_body is after.sent_body is after.plain_body
    assert after.asked is None


def test_a_backlog_is_read_from_where_it_is_new() -> None:
    """Packed exchanges of one conversation have the same message objects: their digests are made once."""
    histories = Histories()
    said = [{"role": ("user", "assistant")[number % 2], "content": f"{number} {'x' * 900}"} for number in range(42)]
    requests = []
    for count in (40, 42):
        body = orjson.dumps({"model": "m", "max_tokens": 9, "messages": said[:count]})
        packed = pack(read(body))
        assert isinstance(packed, Packed)
        after = unpack(packed, histories)
        assert same(after, unpack(packed))
        assert after.asked is not None and after.asked.request is not None
        requests.append(after.asked.request.raw_messages)

    assert sum(one is other for one, other in zip(*requests, strict=False)) == 38


@pytest.mark.parametrize(
    "changes",
    [
        {"plain_body": b"{}" * MIN_BYTES},
        {"status_code": 101},
        {"forwarded_body": b"something else"},
        {"sent_body": b"{}", "plain_body": b"{}", "forwarded_body": b"{}"},
    ],
    ids=["encoded", "websocket", "changed-unknown-how", "short"],
)
def test_what_could_not_be_made_again_is_left_as_it_is(changes: dict[str, object]) -> None:
    """And so is what is not worth it."""
    before = dataclasses.replace(captured(long_body()), **changes)  # type: ignore[arg-type]

    assert pack(before) is thin(before) is before


def test_a_body_that_is_no_json_waits_like_any_other() -> None:
    """It was not read the first time either."""
    body = b"not json " * MIN_BYTES
    plain = captured(body)
    exchange = request_exchange(plain.head, body)
    before = dataclasses.replace(plain, asked=Asked(exchange, None, identify(exchange, None, plain.head.endpoint)))
    packed = pack(before)

    assert isinstance(packed, Packed)
    assert same(unpack(packed), before)
