"""WebSocket frames against the benchmark's real upstream."""

from spanlore_proxy.bench.load import Target
from spanlore_proxy.bench.sockets import frame_delays_ms, frames_per_s


async def test_frames_carry_the_senders_clock(direct: Target) -> None:
    """Every frame is received once, and none before it was sent."""
    delays = await frame_delays_ms(direct, sockets=2, frames=20, interval_ms=1)

    assert len(delays) == 40
    assert min(delays) >= 0


async def test_rate_counts_all_messages(direct: Target) -> None:
    """Each message of each connection is answered."""
    assert await frames_per_s(direct, sockets=2, messages=3, frames=10) > 0
