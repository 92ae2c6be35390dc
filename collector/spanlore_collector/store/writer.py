"""The one writer: a thread that owns the writing connection and does everything that changes the store, in order.

Batches that wait while an insert runs are put into the next one together, because an insert costs much the same for
one row as for hundreds; a group also waits a moment for requests that are still being decoded (`expect`). A batch's
future is done when its rows are committed, and not before. When a group fails, its batches are tried one by one, so
that a bad one harms only its own sender.
"""

from __future__ import annotations

import logging
import queue
import struct
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DataError

from spanlore_collector.store.inserting import Inserter, Receipt
from spanlore_collector.store.rows import SpanRows
from spanlore_collector.store.signals import SignalRows
from spanlore_collector.store.stamps import Stamps, newest_stamp_ms

log = logging.getLogger(__name__)

MAX_GROUP_SPANS = 8_192
MAX_GROUP_BYTES = 32 * 1024**2
MAX_WAITING_BYTES = 192 * 1024**2
LINGER_S = 0.05
"""How long a group waits for requests that have come but are not decoded: less than the insert that is saved."""


class StoreFullError(RuntimeError):
    """It can't be stored now: too much is waiting, or the store refuses. Try again in `retry_after_s`."""

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BadRowsError(ValueError):
    """The batch holds something no column can hold; trying again will not help."""


@dataclass(slots=True)
class Counters:
    """What the writer has done since it started."""

    batches: int = 0
    spans: int = 0
    duplicates: int = 0
    groups: int = 0
    signals: int = 0
    """Log records and data points."""
    failures: int = 0
    last_failure: str = ""


@dataclass(slots=True)
class _Batch:
    rows: Sequence[SpanRows]
    size_bytes: int
    since_s: float
    done: Future[Receipt] = field(default_factory=Future)


@dataclass(slots=True)
class _Work:
    run: Callable[[Client], Any]
    done: Future[Any] = field(default_factory=Future)


class Writer:
    """Owns `client` and `beside` from `start` on, and closes them at the end."""

    def __init__(self, client: Client, beside: Client | None = None, cluster: str = "") -> None:
        """`beside` is a second connection, so that two tables can be written at once; `cluster` names the store's."""
        self._client = client
        self._inserter = Inserter(client, beside=beside, cluster=cluster)
        self._stamps = Stamps(newest_stamp_ms(client), time.monotonic_ns())
        self._queue: queue.SimpleQueue[_Batch | _Work | None] = queue.SimpleQueue()
        self._held: _Batch | _Work | None = None
        self._waiting_bytes = 0
        self._expected = 0
        self._since_s: float | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)
        self.counters = Counters()

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self, timeout_s: float) -> bool:
        """Finishes what is waiting, then ends; False when it was not done in time."""
        self._queue.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    @property
    def waiting_bytes(self) -> int:
        """Size of the batches that are not committed yet."""
        return self._waiting_bytes

    @property
    def lag_ms(self) -> float:
        """How long the oldest batch of the group that is being written has waited."""
        since_s = self._since_s
        return 0.0 if since_s is None else (time.monotonic() - since_s) * 1e3

    def stamp_ms(self) -> int:
        """What the rows of the next batch are to tell as the time when they were written (`stamps`)."""
        return self._stamps.next_ms(time.time_ns(), time.monotonic_ns())

    def expect(self, change: int) -> None:
        """A request came (1) or was answered (-1)."""
        with self._lock:
            self._expected += change

    def submit_signals(self, rows: SignalRows, size_bytes: int) -> Future[None]:
        """Takes logs or metrics; its future ends as `submit`'s does.

        Raises:
            StoreFullError: too much is waiting already.
        """
        self._reserve(size_bytes)

        def run(_: Client) -> None:
            try:
                self._inserter.insert_signals(rows)
                self.counters.signals += rows.count
            # Whatever an insert raises, the sender must be told as of a batch of spans.
            except Exception as error:
                self._failed(error)
                raise _explain(error) from error
            finally:
                self._release(size_bytes)

        return self.call(run)

    def submit(self, rows: Sequence[SpanRows], size_bytes: int) -> Future[Receipt]:
        """Takes a batch. Its future ends with a receipt, `StoreFullError` or `BadRowsError`.

        Raises:
            StoreFullError: too much is waiting already.
        """
        self._reserve(size_bytes)
        batch = _Batch(rows, size_bytes, time.monotonic())
        batch.done.set_running_or_notify_cancel()  # from now on nobody can cancel it: it will be written
        self._queue.put(batch)
        return batch.done

    def add_content(self, find: Callable[[Client], Sequence[SpanRows]]) -> Future[None]:
        """Adds the content that `find` returns to spans that are there; its future ends as `submit`'s does."""

        def run(client: Client) -> None:
            try:
                self._inserter.add_content(find(client))
            # As of a batch of spans: the sender must be told, whatever it was.
            except Exception as error:
                self._failed(error)
                raise _explain(error) from error

        return self.call(run)

    def prune(self) -> Future[int]:
        """Deletes content that nothing names any more, in order with everything else; the rows that went."""
        return self.call(lambda _: self._inserter.prune())

    def call[T](self, run: Callable[[Client], T]) -> Future[T]:
        """Runs `run` with the writing connection, after everything that was submitted before."""
        work = _Work(run)
        work.done.set_running_or_notify_cancel()
        self._queue.put(work)
        return work.done

    def _run(self) -> None:
        try:
            while (item := self._next()) is not None:
                if isinstance(item, _Work):
                    _settle(item.done, lambda item=item: item.run(self._client))  # type: ignore[misc]  # of a default
                else:
                    self._write(self._gather(item))
        finally:
            self._inserter.close()
            self._client.close()

    def _next(self) -> _Batch | _Work | None:
        item, self._held = self._held, None
        return self._queue.get() if item is None else item

    def _gather(self, first: _Batch) -> list[_Batch]:
        """The batch and those that wait behind it, up to the limits of a group."""
        group, spans, size_bytes = [first], len(first.rows), first.size_bytes
        until_s = time.monotonic() + LINGER_S
        while spans < MAX_GROUP_SPANS and size_bytes < MAX_GROUP_BYTES:
            patience_s = until_s - time.monotonic() if self._expected > len(group) else 0.0
            try:
                item = self._queue.get(timeout=patience_s) if patience_s > 0 else self._queue.get_nowait()
            except queue.Empty:
                break
            if not isinstance(item, _Batch):
                # What follows it must wait for it, and it for this group.
                if item is None:
                    self._queue.put(None)
                else:
                    self._held = item
                break
            group.append(item)
            spans += len(item.rows)
            size_bytes += item.size_bytes
        return group

    def _write(self, group: list[_Batch]) -> None:
        self._since_s = group[0].since_s
        try:
            self._insert(group)
        # This thread is a process shell: it must outlive whatever an insert raises, and the sender must be told.
        except Exception as error:
            self._failed(error)
            if len(group) > 1:
                for batch in group:
                    self._write([batch])
                return
            group[0].done.set_exception(_explain(error))
            self._forget(group)
        finally:
            self._since_s = None

    def _insert(self, group: list[_Batch]) -> None:
        self._stamps.look_again(self._client, time.monotonic_ns())
        receipts = self._inserter.insert([batch.rows for batch in group])
        counters = self.counters
        counters.groups += 1
        for batch, receipt in zip(group, receipts, strict=True):
            counters.batches += 1
            counters.spans += receipt.spans
            counters.duplicates += receipt.duplicates
            batch.done.set_result(receipt)
        self._forget(group)

    def _forget(self, group: list[_Batch]) -> None:
        self._release(sum(batch.size_bytes for batch in group))

    def _reserve(self, size_bytes: int) -> None:
        with self._lock:
            if self._waiting_bytes and self._waiting_bytes + size_bytes > MAX_WAITING_BYTES:
                raise StoreFullError("the collector has too much to write already")
            self._waiting_bytes += size_bytes

    def _release(self, size_bytes: int) -> None:
        with self._lock:
            self._waiting_bytes -= size_bytes

    def _failed(self, error: Exception) -> None:
        self.counters.failures += 1
        self.counters.last_failure = str(error)[:500]
        log.error("can't store: %s", self.counters.last_failure)


def _explain(error: Exception) -> Exception:
    if isinstance(error, (DataError, ValueError, TypeError, OverflowError, struct.error)):
        return BadRowsError(str(error)[:500])
    return StoreFullError(f"the store refuses: {str(error)[:500]}", retry_after_s=5)


def _settle(done: Future[Any], run: Callable[[], Any]) -> None:
    # The caller waits in another thread: whatever goes wrong is its to know, and must not end this one.
    try:
        done.set_result(run())
    except Exception as error:
        done.set_exception(error)
