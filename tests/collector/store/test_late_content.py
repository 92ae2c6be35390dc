"""Content that comes in log records, before its span, after it, and in pieces."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import count

import pytest
from clickhouse_connect.driver.client import Client

from spanlore.semconv import gen_ai
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord
from spanlore_collector.ingest.events import completed
from spanlore_collector.ingest.foreign import understood
from spanlore_collector.ingest.logs import LogRecord, log_rows
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.late_content import LateContent, SpanKey
from spanlore_collector.store.rows import rows_of
from spanlore_collector.store.signals import SignalRows

NOW_NS = 1_790_000_000_000_000_000
NUMBERS = count(1)


class World:
    """One store, and the collector's parts that write it."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.inserter = Inserter(client)
        self.late = LateContent(completed)
        self.requests = 0

    def span(self, key: SpanKey) -> None:
        """The span comes, as the receiver takes it."""
        named: dict[str, AttributeValue] = {gen_ai.OPERATION_NAME: "chat", gen_ai.CONVERSATION_ID: f"late-{key[1]}"}
        record = SpanRecord(
            bytes.fromhex(key[0]), bytes.fromhex(key[1]), None, "chat", SpanKind.CLIENT, NOW_NS, NOW_NS + 9, named
        )
        self.inserter.insert([[rows_of(understood(record), 1)]])
        self.join(self.late.waits([key]))

    def tell(self, key: SpanKey, *events: tuple[str, str]) -> None:
        """Log records come, in one request."""
        ids = bytes.fromhex(key[0]), bytes.fromhex(key[1])
        records = [
            LogRecord(NOW_NS + self.requests * 100 + number, name, body, {}, {}, *ids)
            for number, (name, body) in enumerate(events)
        ]
        self.requests += 1
        rows = SignalRows({"otel_logs": log_rows(records, NOW_NS)}, f"late-{key[1]}-{self.requests}")
        self.inserter.insert_signals(rows)
        self.join([key])

    def join(self, keys: Sequence[SpanKey]) -> None:
        """What the receiver has the writer do."""
        self.inserter.add_content(self.late.found(self.client, keys, 5))

    def parts(self, key: SpanKey) -> list[tuple[str, str]]:
        """(direction, text) of the span, in order, each with its content."""
        sql = (
            "SELECT p.direction, c.body FROM message_parts AS p LEFT JOIN content AS c ON c.hash = p.content_hash "
            f"WHERE p.span_id = '{key[1]}' ORDER BY p.direction, p.message_index, p.part_index"
        )
        return [(row[0], row[1]) for row in self.client.query(sql).result_rows]

    def typed(self, key: SpanKey) -> list[str]:
        """What a person said there."""
        sql = f"SELECT text FROM human_messages WHERE span_id = '{key[1]}' ORDER BY ordinal"
        return [row[0] for row in self.client.query(sql).result_rows]


@pytest.fixture(scope="module")
def world(store: Store) -> Iterator[World]:
    client = store.connect()
    yield World(client)
    client.close()


@pytest.fixture
def key() -> SpanKey:
    """Of a span that no other test has."""
    number = next(NUMBERS)
    return f"{number:032x}".replace("0", "d"), f"{number:016x}".replace("0", "d")


ASKED = ("gen_ai.user.message", '{"content": "late question"}')
SAID = ("gen_ai.choice", '{"index": 0, "message": {"content": "late answer"}}')
BOTH = [("input", "late question"), ("output", "late answer")]


@pytest.mark.parametrize("is_first", [True, False], ids=["records first", "span first"])
def test_whichever_comes_first(world: World, key: SpanKey, is_first: bool) -> None:
    """Parts, contents and what was typed stand as if the span had carried them; nothing waits afterwards."""
    if is_first:
        world.tell(key, ASKED, SAID)
        assert world.parts(key) == [] and world.late.waits([key]) == [key]
        world.span(key)
    else:
        world.span(key)
        world.tell(key, ASKED, SAID)

    assert world.parts(key) == BOTH
    assert world.typed(key) == ["late question"]
    assert world.late.waits([key]) == []


def test_again_changes_nothing(world: World, key: SpanKey) -> None:
    """The records once more, or the span once more."""
    world.span(key)
    world.tell(key, ASKED, SAID)
    world.join([key])
    world.span(key)

    assert world.parts(key) == BOTH
    assert world.typed(key) == ["late question"]


def test_in_pieces(world: World, key: SpanKey) -> None:
    """Several requests tell one span: order and ordinals are those of the whole."""
    world.span(key)
    world.tell(key, SAID)
    world.tell(key, ASKED)
    world.tell(key, ("gen_ai.user.message", '{"content": "and more"}'))

    assert world.parts(key) == [("input", "late question"), ("input", "and more"), ("output", "late answer")]
    assert world.typed(key) == ["late question", "and more"]


def test_a_new_process_finds_what_waits(world: World, key: SpanKey) -> None:
    """Records whose span came while nobody was there to join them."""
    world.tell(key, ASKED, SAID)
    anew = LateContent(completed)
    world.inserter.insert_signals(_recent(key))
    left = anew.left(world.client)
    world.late = anew
    world.join(left)
    assert key in left and anew.waits([key]) == [key]
    world.span(key)

    assert ("output", "late answer") in world.parts(key)


def _recent(key: SpanKey) -> SignalRows:
    """A record of the present, which is where a start looks."""
    record = LogRecord(time.time_ns(), *ASKED, {}, {}, bytes.fromhex(key[0]), bytes.fromhex(key[1]))
    return SignalRows({"otel_logs": log_rows([record], 1)}, f"recent-{key[1]}")


def test_a_spans_own_content_stands(world: World, key: SpanKey) -> None:
    """What it carried itself is not mixed with what records say."""
    own = '[{"role": "user", "parts": [{"type": "text", "content": "own words"}]}]'
    record = SpanRecord(
        bytes.fromhex(key[0]),
        bytes.fromhex(key[1]),
        None,
        "chat",
        SpanKind.CLIENT,
        NOW_NS,
        NOW_NS + 9,
        {gen_ai.OPERATION_NAME: "chat", gen_ai.INPUT_MESSAGES: own},
    )
    world.inserter.insert([[rows_of(record, 1)]])
    world.tell(key, ASKED, SAID)

    assert world.parts(key) == [("input", "own words"), ("output", "late answer")]


def test_a_span_that_is_no_model_call_is_left_alone(world: World, key: SpanKey) -> None:
    """And one that gave way to the wire has no typed row: its records are not told twice."""
    record = SpanRecord(bytes.fromhex(key[0]), bytes.fromhex(key[1]), None, "GET", SpanKind.CLIENT, 1, 2)
    world.inserter.insert([[rows_of(record, 1)]])
    world.tell(key, ASKED)

    assert world.parts(key) == []
