"""The benchmark's client against its real upstream."""

import contextlib
import datetime
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.certificate import write_certificate
from spanlore_proxy.bench.load import Target, chunk_delays_ms, chunks_per_s, latencies_ms, requests_per_s
from spanlore_proxy.bench.targets import free_port


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The upstream in its own process, reached directly."""
    cert = tmp_path_factory.mktemp("bench") / "cert.pem"
    write_certificate(cert, datetime.datetime.now(datetime.UTC))
    port = free_port()
    command = [sys.executable, "-m", "spanlore_proxy.bench.upstream", "--port", str(port), "--cert", str(cert)]
    process = subprocess.Popen(command)
    try:
        for _ in range(200):
            with contextlib.closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield Target("direct", f"https://localhost:{port}/v1/messages", None, str(cert))
    finally:
        process.terminate()
        process.wait()


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
