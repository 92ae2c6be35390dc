"""A collector whose ClickHouse server refuses, is slow, is deaf and restarts: what was acknowledged is there, once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import clickhouse_connect
import pytest

from spanlore.otlp.codec import encode_request
from spanlore.settings import child_environment
from spanlore_collector.bench.sample import sample_spans
from support.collector_process import CollectorProcess

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[1]
BATCH = 40
DOUBLED = {
    "otel_traces": "(TraceId, SpanId)",
    "inferences": "span_id",
    "tool_calls": "span_id",
    "turns": "span_id",
    "human_messages": "(span_id, ordinal)",
    "session_facts": "span_id",
    "message_parts": "(span_id, direction, message_index, part_index)",
    "content": "hash",
}


class Server:
    """The misbehaving server in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mode = folder / "mode"
        self.port = 0
        self.behave("well")
        self.start()

    def behave(self, mode: str) -> None:
        """From the next request on."""
        self._mode.write_text(mode)

    def start(self) -> None:
        """On the same port and with the same rows as before."""
        names = {"PYTHONPATH": str(TESTS)}
        command = [sys.executable, "-m", "support.clickhouse_server", str(self._folder / "rows"), str(self.port)]
        self._process = subprocess.Popen(
            [*command, str(self._mode)], env=child_environment(names), stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def url(self) -> str:
        """As a setting."""
        return f"http://default:secret@127.0.0.1:{self.port}/spanlore?compress=false"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server, behaving well."""
    server = Server(tmp_path)
    yield server
    server.kill()


def deliver(collector: CollectorProcess, body: bytes, refused: list[int]) -> None:
    """As a sender does: the same bytes again until they are acknowledged."""
    while (reply := collector.post_body(body)).status != 200:
        assert reply.status == 503 and int(reply.headers["Retry-After"]) > 0, reply.body
        refused.append(reply.status)
        time.sleep(0.1)


def test_every_batch_is_stored_once_whatever_the_server_does(server: Server, tmp_path: Path) -> None:
    """Refusing, slow, deaf to its own success, killed and started again, under a sender that goes on."""
    spans = sample_spans(BATCH * 12, seed=81)
    bodies = [encode_request(spans[start : start + BATCH]) for start in range(0, len(spans), BATCH)]
    with CollectorProcess(tmp_path / "state", SPANLORE_CLICKHOUSE_URL=server.url) as collector:
        refused: list[int] = []
        done: list[bytes] = []

        def send() -> None:
            for body in bodies:
                deliver(collector, body, refused)
                done.append(body)

        sender = threading.Thread(target=send)
        sender.start()
        for mode, patience in (("refuse", 1.0), ("slow", 1.0), ("deaf", 2.0), ("kill", 1.5), ("well", 0.0)):
            so_far = len(done)
            if mode == "kill":
                server.kill()
            else:
                server.behave(mode)
            time.sleep(patience)
            if mode == "kill":
                server.behave("well")
                server.start()
            if mode in ("slow", "kill"):
                wait_for(lambda at=so_far: len(done) > at or not sender.is_alive())
        sender.join(120)

        assert not sender.is_alive()
        assert refused
        assert len(done) == len(bodies)
        # Again, as a sender does that lost its own notes.
        for body in bodies:
            deliver(collector, body, refused)
    client = clickhouse_connect.get_client(dsn=server.url)
    try:
        assert client.query("SELECT count() FROM otel_traces").result_rows == [(len(spans),)]
        for table, key in DOUBLED.items():
            doubled = client.query(f"SELECT count() - uniqExact({key}) FROM {table}").result_rows
            assert doubled == [(0,)], table
    finally:
        client.close()


def wait_for(holds: object, within_s: float = 60.0) -> None:
    """Polls until it holds."""
    assert callable(holds)
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
