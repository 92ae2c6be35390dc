"""Three ledgers, each by itself."""

import pytest

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord
from spanlore_collector.store.ledgers import BY, CostRow, read_costs
from spanlore_collector.store.reader import Reader
from support.collector_process import CollectorProcess
from support.effects import START_NS, chat_span, session_spans
from support.injecting import make_memory

PRICED = {gen_ai.OPERATION_NAME: "chat", gen_ai.REQUEST_MODEL: "m", lore.COST_USD: 0.02, lore.COST_INPUT_USD: 0.01}


def send(collector: CollectorProcess, spans: list[SpanRecord]) -> None:
    """Delivers spans."""
    assert collector.post_spans(spans).status == 200


def costs(collector: CollectorProcess, by: str) -> list[CostRow]:
    """The ledgers of what these tests sent."""
    with Reader(collector.clickhouse_url, collector.token) as reader:
        return read_costs(reader, by, START_NS - 1)


def row_of(collector: CollectorProcess, key: str, by: str = "repository") -> CostRow:
    """The line of that key."""
    [row] = [row for row in costs(collector, by) if row.key == key]
    return row


def test_exposed_tokens_cost_their_share_of_the_input(collector: CollectorProcess) -> None:
    """400 bytes are 100 tokens, a tenth of this request's input, so a tenth of what its input cost."""
    send(collector, session_spans("exposed-1", make_memory()))
    row = row_of(collector, "example.org/exposed")

    assert (row.requests, row.tokens, row.usd) == (1, 1010, 0.02)
    assert (row.exposed_requests, row.exposed_tokens) == (1, 100)
    assert row.exposed_usd == pytest.approx(0.001)
    assert (row.internal_requests, row.internal_tokens, row.internal_usd) == (0, 0, None)
    assert (row.cache_delta_tokens, row.cache_delta_usd) == (0, None)


def test_internal_calls_are_not_the_agents(collector: CollectorProcess) -> None:
    """The judge's own calls stand in a ledger of their own."""
    usage = {gen_ai.USAGE_INPUT_TOKENS: 500, gen_ai.USAGE_OUTPUT_TOKENS: 5}
    send(collector, [chat_span("judge-1", 0, **PRICED, **usage, **{lore.HARNESS: "spanlore"})])
    row = row_of(collector, "example.org/judge")

    assert (row.requests, row.tokens, row.usd) == (0, 0, None)
    assert (row.internal_requests, row.internal_tokens, row.internal_usd) == (1, 505, 0.02)


@pytest.mark.parametrize(("is_ours", "expected"), [(True, 700), (False, 0)])
def test_only_a_loss_of_our_making_is_a_cache_delta(collector: CollectorProcess, is_ours: bool, expected: int) -> None:
    """The request before left 900 tokens in the cache, this one read 200; the client's own change is the client's."""
    session = f"delta{int(is_ours)}-1"
    alarm = {lore.INJECTED_PLACEMENTS: '[{"kind":"alarm","reason":"prefix_changed"}]'} if is_ours else {}
    first = {gen_ai.USAGE_INPUT_TOKENS: 1000, gen_ai.USAGE_OUTPUT_TOKENS: 1, gen_ai.USAGE_CACHE_WRITE_INPUT_TOKENS: 900}
    then = {gen_ai.USAGE_INPUT_TOKENS: 1000, gen_ai.USAGE_OUTPUT_TOKENS: 1, gen_ai.USAGE_CACHE_READ_INPUT_TOKENS: 200}
    send(collector, [chat_span(session, 0, **PRICED, **first), chat_span(session, 1, **PRICED, **then, **alarm)])
    row = row_of(collector, f"example.org/delta{int(is_ours)}")

    assert row.cache_delta_tokens == expected
    assert (row.cache_delta_usd or 0) == pytest.approx(expected * 0.00001 * 0.9)


def test_an_unknown_price_is_no_price(collector: CollectorProcess) -> None:
    """Tokens count, money stays unknown, and the request is counted as unpriced."""
    usage = {gen_ai.USAGE_INPUT_TOKENS: 10, gen_ai.USAGE_OUTPUT_TOKENS: 1, lore.INJECTED_BYTES: 8}
    send(collector, [chat_span("free-1", 0, **{gen_ai.OPERATION_NAME: "chat", gen_ai.REQUEST_MODEL: "x"}, **usage)])
    row = row_of(collector, "example.org/free")

    assert (row.exposed_tokens, row.exposed_usd, row.usd, row.unpriced_requests) == (2, None, None, 1)


@pytest.mark.parametrize("by", BY)
def test_every_split_holds_the_same_tokens(collector: CollectorProcess, by: str) -> None:
    """By day, repository, agent, model and session."""
    send(collector, session_spans("split-1", make_memory()))
    whole = sum(row.exposed_tokens for row in costs(collector, "repository"))

    assert sum(row.exposed_tokens for row in costs(collector, by)) == whole
