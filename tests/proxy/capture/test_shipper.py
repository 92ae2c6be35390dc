import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from spanlore_proxy.capture import shipper as shipper_module
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.shipper import Shipper
from spanlore_proxy.capture.spool import Spool
from support.capture_proxy import until
from support.capture_upstream import ApiServer, api_server


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries wait milliseconds, not seconds."""
    monkeypatch.setattr(shipper_module, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(shipper_module, "LONGEST_PAUSE_S", 0.05)


class Answers:
    """Statuses to answer with, the last one for ever; `bad` is what is refused with 400 wherever it stands."""

    def __init__(self, *statuses: int, bad: bytes = b"\0", body: bytes = b"") -> None:
        self.statuses = list(statuses) or [200]
        self.bad = bad
        self.body = body
        self.sent: list[tuple[int, str, bytes]] = []

    async def __call__(self, request: web.Request, body: bytes) -> web.StreamResponse:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        status = 400 if self.bad in body else status
        self.sent.append((status, request.headers["x-spanlore-batch"], body))
        assert request.headers["authorization"] == "Bearer token"
        return web.Response(status=status, body=self.body, headers={"retry-after": "0"})


@asynccontextmanager
async def shipping(
    folder: Path, url: str, counts: Counters, spacing_s: float = 0.0
) -> AsyncIterator[tuple[Spool, Shipper]]:
    spool = Spool(folder, max_bytes=2**26, counts=counts)
    shipper = Shipper(spool, f"{url}/v1/traces", "token", counts, linger_s=0.01, spacing_s=spacing_s)
    task = asyncio.create_task(shipper.run())
    try:
        yield spool, shipper
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        spool.close()


async def deliver(folder: Path, server: ApiServer, counts: Counters, *payloads: bytes) -> str:
    """Spools the payloads and waits until nothing is left; returns the trouble that is left."""
    async with shipping(folder, server.url, counts) as (spool, shipper):
        for payload in payloads:
            spool.append([payload], 1)
        shipper.wake()
        await until(lambda: spool.state().records == 0, 5)
        await asyncio.sleep(0.02)
        return shipper.trouble


async def test_records_go_out_together(tmp_path: Path) -> None:
    """What waits is sent in one batch, acknowledged and gone; what comes later follows without being asked for."""
    answers, counts = Answers(), Counters()
    async with api_server(answers) as server, shipping(tmp_path, server.url, counts) as (spool, shipper):
        spool.append([b"a", b"b"], 1)
        shipper.wake()
        await until(lambda: counts.count("shipped") == 2)
        spool.append([b"c"], 2)
        shipper.wake()
        await until(lambda: counts.count("shipped") == 3)

    assert [body for _, _, body in answers.sent] == [b"ab", b"c"]


@pytest.mark.parametrize("status", [401, 404, 429, 500, 502, 503])
async def test_what_may_pass_is_tried_again(tmp_path: Path, status: int) -> None:
    """The same bytes with the same token, until they are taken; the reason is counted."""
    answers, counts = Answers(status, status, 200), Counters()
    async with api_server(answers) as server:
        trouble = await deliver(tmp_path, server, counts, b"a", b"b")

    assert [sent[0] for sent in answers.sent] == [status, status, 200]
    assert len({sent[1:] for sent in answers.sent}) == 1
    assert counts.snapshot() == {"retried": {f"http_{status}": 2}, "shipped": {"total": 2}}
    assert trouble == ""


async def test_a_collector_that_is_down_is_waited_for(tmp_path: Path) -> None:
    """Nothing is lost while nobody listens."""
    counts = Counters()
    async with api_server(Answers()) as gone:
        pass
    async with shipping(tmp_path, gone.url, counts) as (spool, shipper):
        spool.append([b"a"], 1)
        shipper.wake()
        await until(lambda: counts.count("retried") >= 2)
        trouble = shipper.trouble
    answers = Answers()
    async with api_server(answers) as server:
        await deliver(tmp_path, server, counts)

    assert "Error" in trouble
    assert answers.sent[0][2] == b"a"


async def test_one_bad_record_does_not_hold_the_others(tmp_path: Path) -> None:
    """A batch that is refused for good is halved until the culprit stands alone; it is set aside and counted."""
    answers, counts = Answers(bad=b"BAD"), Counters()
    async with api_server(answers) as server:
        await deliver(tmp_path, server, counts, b"1", b"2", b"3", b"BAD", b"5", b"6", b"7")

    assert b"".join(body for status, _, body in answers.sent if status == 200) == b"123567"
    assert counts.snapshot()["lost"] == {"refused_400": 1}
    assert [path.read_bytes() for path in (tmp_path / "dead").iterdir()] == [b"BAD"]


async def test_a_partial_success_is_not_repeated(tmp_path: Path) -> None:
    """What was rejected in a 200 is not sent again, but counted; an answer that is no OTLP is a 200, too."""
    partial = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=3))
    for body, lost in ((partial.SerializeToString(), 3), (b"\xff\xffnonsense", 0)):
        answers, counts = Answers(body=body), Counters()
        async with api_server(answers) as server:
            await deliver(tmp_path, server, counts, b"a")
        assert (len(answers.sent), counts.count("lost", "rejected_spans")) == (1, lost)


async def test_the_loop_may_be_gone(tmp_path: Path) -> None:
    """The recorder may have something to say after the event loop has ended; that is no error."""
    counts = Counters()
    async with api_server(Answers()) as server, shipping(tmp_path, server.url, counts) as (_, shipper):
        pass
    closed = asyncio.new_event_loop()
    closed.close()
    shipper._loop = closed

    shipper.wake()


async def test_steady_work_goes_out_in_few_batches(tmp_path: Path) -> None:
    """The first record at once; what comes while there is always something new, together, some time later."""
    answers, counts = Answers(), Counters()
    async with api_server(answers) as server, shipping(tmp_path, server.url, counts, 0.5) as (spool, shipper):
        for number in range(20):
            spool.append([b"%d" % number], 1)
            shipper.wake()
            if not number:
                await until(lambda: counts.count("shipped") == 1)
                first = asyncio.get_running_loop().time()
            await asyncio.sleep(0.005)
        await until(lambda: counts.count("shipped") == 20)
        waited = asyncio.get_running_loop().time() - first

    assert b"".join(body for _, _, body in answers.sent) == b"".join(b"%d" % number for number in range(20))
    assert len(answers.sent) < 10
    assert waited >= 0.4
