"""The benchmark's client against its real upstream."""

from collections import Counter
from itertools import islice, pairwise

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.load import Target, chunk_delays_ms, chunks_per_s, latencies_ms, lines, orders, requests_per_s


async def test_every_request_after_warming_is_timed(direct: Target) -> None:
    """The warm-up is left out, every other request is in."""
    async with lines([direct], 1) as open_lines:
        found = await latencies_ms(open_lines, conversation(10_000, 6, 1, "s"), warm=2)

    assert len(found["direct"]) == 4
    assert all(spent > 0 for spent in found["direct"])


def test_targets_come_behind_each_other_equally_often() -> None:
    """What one leaves to be done falls on all others alike."""
    turns = [chosen for order in islice(orders(3), 6 * 40) for chosen in order]
    behind = Counter((one, two) for one, two in pairwise(turns) if one != two)

    assert max(behind.values()) - min(behind.values()) <= 41


async def test_rate_counts_all_connections(direct: Target) -> None:
    """The rate is requests of all connections over the time of the slowest."""
    talks = [conversation(10_000, 3, n, f"s{n}") for n in range(4)]

    async with lines([direct], 4) as (line,):
        assert await requests_per_s(line, talks) > 0


async def test_chunks_carry_the_senders_clock(direct: Target) -> None:
    """Every chunk is received once, and none before it was sent."""
    body = conversation(10_000, 1, 1, "s").bodies[0]
    async with lines([direct], 2) as (line,):
        delays = await chunk_delays_ms(line, body, "slow", streams=2, chunks=20, interval_ms=1)

        assert len(delays) == 40
        assert min(delays) >= 0
        assert await chunks_per_s(line, body, "flat", streams=2, chunks=50) > 0
