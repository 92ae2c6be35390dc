"""Delivers the spool to the collector over OTLP/HTTP, for ever if need be.

A batch is deleted from the spool only once the collector answered 200. Whatever may pass with time is tried again
with growing pauses: no connection, 429, 5xx, and answers that say the wrong server sits on that port (401, 403, 404).
What says that these very bytes are bad (400, 413, 415, 422) is halved until the one record is found that is refused;
that one is set aside and counted. A 200 with rejected spans is not repeated (OTLP forbids it), but counted.
"""

from __future__ import annotations

import asyncio
import io
import logging
import random
from typing import Final

import aiohttp
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanlore_proxy.capture import counters
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.spool import Batch, Spool

MAX_BATCH_BYTES: Final = 4 * 1024**2
MAX_BATCH_RECORDS: Final = 512
LINGER_S: Final = 0.05
"""Waited after the first record for others to come with it."""
SPACING_S: Final = 0.75
"""From one delivery that emptied the spool to the next. A batch costs the collector some 50 ms however little is in it,
on the cores that serve the agents: one a request would be more than all that the proxy does for that request."""
FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
TIMEOUT_S: Final = 60.0
REFUSED_FOR_GOOD: Final = frozenset({400, 413, 415, 422})
TOKEN_HEADER: Final = "x-spanlore-batch"

_log = logging.getLogger(__name__)


class Shipper:
    """The one sender of one spool. `run` until cancelled; what is not sent by then stays in the spool."""

    def __init__(
        self,
        spool: Spool,
        url: str,
        token: str,
        counts: Counters,
        *,
        linger_s: float = LINGER_S,
        spacing_s: float = SPACING_S,
    ) -> None:
        """`url` is the collector's `/v1/traces`; must be made inside the event loop that runs it."""
        self._spool = spool
        self._url = url
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/x-protobuf"}
        self._counts = counts
        self._linger_s = linger_s
        self._spacing_s = spacing_s
        self._loop = asyncio.get_running_loop()
        self._work = asyncio.Event()
        self._pause_s = FIRST_PAUSE_S
        self.trouble = ""
        """Why the last delivery failed, '' when it did not; for `spanlore status`."""

    def wake(self) -> None:
        """There is something new in the spool. Safe from any thread."""
        if self._work.is_set():
            return  # it is known already: whoever clears it looks into the spool afterwards
        try:
            self._loop.call_soon_threadsafe(self._work.set)
        except RuntimeError:
            pass  # the loop is closed: the record is on disk and goes out after the next start

    async def run(self) -> None:
        """Delivers whatever is in the spool and whatever comes."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S, sock_connect=2.0)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            emptied_at = self._loop.time() - self._spacing_s
            while True:
                try:
                    is_empty = not await self._deliver_next(session)
                except OSError as error:  # the spool cannot be read or written at this moment
                    _log.error("spool: %s", error)
                    await self._pause(f"spool_{type(error).__name__}")
                    continue
                if is_empty:
                    await self._work.wait()
                    self._work.clear()
                    since = self._loop.time() - emptied_at
                    await asyncio.sleep(max(self._linger_s, self._spacing_s - since))
                else:
                    emptied_at = self._loop.time()

    async def _deliver_next(self, session: aiohttp.ClientSession) -> bool:
        batch = await asyncio.to_thread(self._spool.next_batch, MAX_BATCH_BYTES, MAX_BATCH_RECORDS)
        if batch is not None:
            await self._deliver(session, batch)
        return batch is not None

    async def _deliver(self, session: aiohttp.ClientSession, batch: Batch) -> None:
        try:
            headers = {**self._headers, TOKEN_HEADER: batch.token}
            # Not as bytes: aiohttp would write a large body in one go, and the event loop with all agents would wait.
            async with session.post(self._url, data=io.BytesIO(batch.body), headers=headers) as response:
                status, answer = response.status, await response.read()
                retry_after = response.headers.get("retry-after", "")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            await self._pause(type(error).__name__)
            return
        if status == 200:
            await self._settle(batch, answer)
        elif status not in REFUSED_FOR_GOOD:
            await self._pause(f"http_{status}", float(retry_after) if retry_after.isdecimal() else 0.0)
        elif batch.count > 1:
            await asyncio.to_thread(self._spool.halve, batch)
        else:
            _log.error("the collector refused a record for good (%d): %s", status, answer[:300])
            await asyncio.to_thread(self._spool.bury, batch, f"refused_{status}")

    async def _settle(self, batch: Batch, answer: bytes) -> None:
        self._pause_s, self.trouble = FIRST_PAUSE_S, ""
        await asyncio.to_thread(self._spool.acknowledge, batch)
        self._counts.add(counters.SHIPPED, amount=batch.count)
        rejected = _rejected_spans(answer)
        if rejected:
            self._counts.add(counters.LOST, "rejected_spans", rejected)

    async def _pause(self, reason: str, at_least_s: float = 0.0) -> None:
        if reason != self.trouble:
            _log.warning("the collector at %s cannot take spans now (%s); they wait in the spool", self._url, reason)
        self.trouble = reason
        self._counts.add(counters.RETRIED, reason)
        await asyncio.sleep(min(max(self._pause_s * random.uniform(0.8, 1.2), at_least_s), LONGEST_PAUSE_S))
        self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)


def _rejected_spans(answer: bytes) -> int:
    try:
        return int(ExportTraceServiceResponse.FromString(answer).partial_success.rejected_spans)
    except DecodeError:  # an answer nobody understands, but 200 is 200
        return 0
