"""The benchmark's client against its real upstream."""

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.load import Target, chunk_delays_ms, chunks_per_s, latencies_ms, requests_per_s


async def test_every_request_after_warming_is_timed(direct: Target) -> None:
    """The warm-up is left out, every other request is in."""
    found = await latencies_ms([direct], {"direct": conversation(10_000, 6, 1, "s")}, warm=2)

    assert len(found["direct"]) == 4
    assert all(spent > 0 for spent in found["direct"])


async def test_rate_counts_all_connections(direct: Target) -> None:
    """The rate is requests of all connections over the time of the slowest."""
    talks = [conversation(10_000, 3, n, f"s{n}") for n in range(4)]

    assert await requests_per_s(direct, talks) > 0


async def test_chunks_carry_the_senders_clock(direct: Target) -> None:
    """Every chunk is received once, and none before it was sent."""
    body = conversation(10_000, 1, 1, "s").bodies[0]
    delays = await chunk_delays_ms(direct, body, streams=2, chunks=20, interval_ms=1)

    assert len(delays) == 40
    assert min(delays) >= 0
    assert await chunks_per_s(direct, body, streams=2, chunks=50) > 0
