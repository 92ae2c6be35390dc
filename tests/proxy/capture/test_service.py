import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

import spanlore
from spanlore.semconv import gen_ai, lore
from spanlore.settings import Paths, Settings, SettingsError, child_environment
from spanlore.spans.record import SpanRecord
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.service import ProxyService
from spanlore_proxy.capture.spool import Spool, SpoolLockedError
from spanlore_proxy.capture.status import read_status
from support.capture_client import post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, REPOSITORY, Collector, collecting, running_proxy, state_in, until
from support.capture_upstream import answering, api_server, streaming

TARGET = f"{HOST}:443"


async def test_an_exchange_becomes_a_span(tmp_path: Path) -> None:
    """A request through the proxy arrives at the collector as a chat span of its run."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, TARGET, proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        (chat,) = await proxy.collector.chats(1)

    assert (answer.body, api.received[0].body) == (message(), request_body())
    assert chat.attributes[lore.REPOSITORY] == REPOSITORY
    assert chat.attributes[gen_ai.USAGE_OUTPUT_TOKENS] == 5
    assert chat.attributes[gen_ai.SERVER_ADDRESS] == HOST


def _is_delivered(service: ProxyService) -> bool:
    return not service.describe()["spool"]["records"]


async def test_the_status_file_hides_nothing(tmp_path: Path) -> None:
    """Counters, lags, spool, overhead and who was captured last, as of a second ago; counters outlive a restart."""
    async with api_server(answering(message())) as api:
        for _ in range(2):
            async with (
                running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
                tunnelled(proxy.port, TARGET, proxy.ca, credentials=CREDENTIALS) as connection,
            ):
                await connection.ask(post(request_body(), *AGENT_HEADERS))
                await proxy.collector.chats(1)
                # The collector has it before it is known here that it has.
                await until(partial(_is_delivered, proxy.service), within_s=30)
    status = read_status(proxy.paths.proxy_status_file)

    assert (status["pid"], status["version"]) == (os.getpid(), spanlore.__version__)
    assert status["counters"]["captured"] == {"total": 2}
    assert status["counters"]["requests"] == {"inference": 2}
    assert status["lag"].keys() == {"event_loop_ms", "recorder_ms", "delivery_s"}
    assert status["spool"]["records"] == 0
    assert status["overhead_ns"]["count"] == 1
    assert status["agents"]["claude-code"]["count"] == 1
    assert status["listening"] == f"127.0.0.1:{proxy.port}"
    assert status["resident_bytes"] > 0


async def test_a_collector_that_comes_late_gets_everything(tmp_path: Path) -> None:
    """While it refuses, agents notice nothing; then it gets every exchange once, under the token it refused before."""
    collector = Collector(status=503)
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}, collector=collector) as proxy,
        tunnelled(proxy.port, TARGET, proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        for number in range(3):
            await connection.ask(post(request_body(f"say {number}"), *AGENT_HEADERS))
        # The refusal is known here before it is there.
        await until(lambda: proxy.service.describe()["delivery_trouble"] == "http_503", within_s=30)
        collector.status = 200
        chats = await collector.chats(3, within_s=30)

    assert len({chat.span_id for chat in chats}) == len(chats) == 3
    assert collector.taken[0] == collector.refused[0]


async def test_broken_files_do_not_keep_it_from_starting(tmp_path: Path) -> None:
    """A database that is none is moved aside; the proxy works without its past, and says so."""
    paths = state_in(tmp_path)
    for path in (paths.proxy_db, paths.wire_log):
        path.write_bytes(b"no database at all, but long enough to have a header " * 20)
    paths.proxy_status_file.write_text("{")
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, TARGET, proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS))
        await proxy.collector.chats(1)

    assert answer.status == 200
    assert proxy.service.counts.snapshot()["degraded"] == {"state_db": 1, "wire_log": 1}
    assert (tmp_path / "state" / "proxy.sqlite.broken").exists()


async def test_one_proxy_a_state_directory(tmp_path: Path) -> None:
    """A second one is told so before it touches anything."""
    async with running_proxy(tmp_path) as proxy:
        with pytest.raises(SpoolLockedError):
            ProxyService(Settings(), proxy.paths)


async def test_settings_that_lead_nowhere_are_told(tmp_path: Path) -> None:
    """An unreadable CA file ends the start with a message that names the setting."""
    with pytest.raises(SettingsError, match="upstream_ca"):
        ProxyService(Settings.model_validate({"proxy": {"upstream_ca": "/does/not/exist"}}), state_in(tmp_path))


async def test_a_failing_task_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault beside the traffic is counted, and deliveries go on."""
    monkeypatch.setattr("spanlore_proxy.capture.service.RESTART_S", 0.01)
    faults = iter([RuntimeError("on purpose")])

    def describe(service: ProxyService) -> dict[str, object]:
        for fault in faults:
            raise fault
        return {"is_well": True}

    monkeypatch.setattr(ProxyService, "describe", describe)
    async with running_proxy(tmp_path) as proxy:
        await until(lambda: "is_well" in read_status(proxy.paths.proxy_status_file))

    assert proxy.service.counts.snapshot()["degraded"] == {"status": 1}


@asynccontextmanager
async def process(
    paths: Paths, listening: socket.socket, **environment: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The proxy as its supervisor starts it."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "spanlore_proxy",
        "--listen-fd",
        str(listening.fileno()),
        pass_fds=(listening.fileno(),),
        env=child_environment(
            {"SPANLORE_STATE_DIR": str(paths.state_dir), "SPANLORE_CONFIG_DIR": str(paths.config_dir), **environment}
        ),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()


async def delivered(paths: Paths, collector: Collector) -> list[SpanRecord]:
    """What the collector has once it has got all that the processes left in the spool."""
    spool = Spool(paths.spool_dir, max_bytes=2**26, counts=Counters())
    while (batch := spool.next_batch(2**22, 512)) is not None:
        collector.taken.append((batch.token, batch.body))
        spool.acknowledge(batch)
    spool.close()
    return await collector.chats(1)


async def test_kill_9_and_sigterm(tmp_path: Path) -> None:
    """Killed at any point, nothing that counted is lost: the next process on the same socket delivers it. SIGTERM lets
    a running stream end, then the process ends with 0."""
    paths = state_in(tmp_path)
    collector, gate = Collector(status=503), asyncio.Event()
    frames = events("a", "b")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        async with api_server(answering(message())) as api, collecting(collector):
            environment = {
                "SPANLORE_UPSTREAMS": f"{HOST}={api.url}",
                "SPANLORE_COLLECTOR_PORT": str(collector.port),
            }
            async with (
                process(paths, listening, **environment) as first,
                tunnelled(port, TARGET, paths.ca_cert, credentials=CREDENTIALS) as connection,
            ):
                await connection.ask(post(request_body("one"), *AGENT_HEADERS))
                await until(lambda: bool(collector.refused))
                first.kill()
                rest = await connection.reader.read()
            api.answer = streaming(*frames, gate=gate)
            collector.status = 200
            async with process(paths, listening, **environment) as second:
                # Nobody serves the socket yet: the connection waits in its queue.
                async with tunnelled(port, TARGET, paths.ca_cert, credentials=CREDENTIALS) as connection:
                    connection.writer.write(post(request_body("one", "hello", "two"), *AGENT_HEADERS))
                    await connection.head()
                    body = await connection.chunk()
                    second.send_signal(signal.SIGTERM)
                    await asyncio.sleep(0.2)
                    gate.set()
                    while chunk := await connection.chunk():
                        body += chunk
                code = await asyncio.wait_for(second.wait(), 60)
            chats = await delivered(paths, collector)

    assert (rest, body, code) == (b"", b"".join(frames), 0)
    assert collector.taken[0] == collector.refused[0]
    assert [chat.attributes[lore.STEP] for chat in chats] == [0, 1]
    assert "one" not in str(chats[1].attributes[gen_ai.INPUT_MESSAGES])


async def test_wrong_settings_end_the_process_with_2(tmp_path: Path) -> None:
    """The message says what is wrong."""
    paths = state_in(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        async with process(paths, listening, SPANLORE_PROXY_PORT="many") as started:
            _, told = await started.communicate()

    assert started.returncode == 2
    assert b"SPANLORE_PROXY_PORT" in told
