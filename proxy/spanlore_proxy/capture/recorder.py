"""From finished exchanges to durable spans, in a thread of its own, so that no agent waits for it.

Taken in groups: each is decoded, placed in its conversation, redacted and encoded; then the group is appended to the
spool with one fsync, and only then counts as captured; then the conversations' new states are saved. The queue is
bounded by bytes; what does not fit is counted as lost with the reason `backlog`. From `PACK_FROM_BYTES` on what comes
is packed first, by another thread, and everything behind it goes the same way, so that the order stays. What a killed
proxy had not recorded is had from `held`, and recorded before anything new.
"""

from __future__ import annotations

import errno
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from spanlore.otlp.codec import encode_request
from spanlore.redaction.values import Redact
from spanlore.settings import Settings
from spanlore.spans.encode import encode, encode_observation
from spanlore.spans.place import Injected, Workplace
from spanlore.spans.price import price_of
from spanlore.spans.record import SpanRecord
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.captured import Asked, Captured
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.held import HeldExchanges, Tally
from spanlore_proxy.capture.ignored import IgnoredFiles
from spanlore_proxy.capture.logged import log_entry
from spanlore_proxy.capture.packed import Packed, pack, thin, unpack
from spanlore_proxy.capture.quiet import Pace
from spanlore_proxy.capture.redacting import redact_inference, redact_observation
from spanlore_proxy.capture.spool import Spool
from spanlore_proxy.capture.state_db import StateDb
from spanlore_proxy.capture.strip import strip_records
from spanlore_proxy.capture.upstream_db import UpstreamDb
from spanlore_proxy.capture.wire_log import WireLog
from spanlore_proxy.conversation.agent import at_workplace, identify
from spanlore_proxy.conversation.tracker import ConversationState, Tracker, state_to_json
from spanlore_proxy.injection.invariant import noted_alarm
from spanlore_proxy.injection.upstream import Body, UpstreamWatch
from spanlore_proxy.wire.codecs import fold_exchange, read_again, read_request
from spanlore_proxy.wire.exchange import Exchange
from spanlore_proxy.wire.history import Histories
from spanlore_proxy.wire.openai_responses.stored import StoredResponses
from spanlore_proxy.wire.request import MalformedRequestError, WireRequest

MAX_QUEUED_BYTES: Final = 256 * 1024**2
MAX_GROUP_BYTES: Final = 4 * 1024**2
"""Of one group: it holds on to its parsed requests until it is spooled."""
MAX_GROUP: Final = 8
"""Recorded before one fsync. Few, since kill -9 loses what waits for it."""
PACK_FROM_BYTES: Final = 24 * 1024**2
"""In the queue: a burst. Less is not worth the time that packing and reading again cost."""
URGENT_BYTES: Final = MAX_QUEUED_BYTES // 4
"""With more than this in the queue the recorder gives way to nobody."""
MAX_LAG_NS: Final = 500_000_000
"""What has been over for longer than this is recorded whoever waits: until it is spooled, kill -9 loses it."""
MAX_HELD_LAG_NS: Final = 3_000_000_000
"""The same where it is held (`held`) and kill -9 loses nothing: somebody may want to see it."""
IDLE_CHECK_S: Final = 5.0
MAX_AGENTS: Final = 64
MAX_INSERTIONS: Final = 256
"""Remembered with what redaction makes of them: they are the same in every request of a conversation."""
MAX_FORWARDED_BYTES: Final = 4 * 1024**2
"""Of forwarded bodies that are remembered, so that only what is new in the next one is parsed for the comparison."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class AgentCaptures:
    """Of one harness."""

    count: int = 0
    last_time_ns: int = 0


@dataclass(slots=True)
class _Group:
    """What one fsync makes durable."""

    payloads: list[bytes] = field(default_factory=list)
    harnesses: list[str] = field(default_factory=list)
    states: dict[str, ConversationState] = field(default_factory=dict)
    logged: list[tuple[Captured, str, bytes, WireRequest | None]] = field(default_factory=list)
    """What goes into the request log."""


class Recorder:
    """One thread. `submit` from the event loop; everything else it owns is touched by its thread alone."""

    def __init__(
        self,
        *,
        spool: Spool,
        tracker: Tracker,
        states: StateDb | None,
        wire_log: WireLog | None,
        redact: Redact,
        settings: Settings,
        counts: Counters,
        bodies: UpstreamDb | None = None,
        held: HeldExchanges | None = None,
        tally: Tally | None = None,
        pace: Pace | None = None,
        refresh: Callable[[Workplace], Workplace] = lambda workplace: workplace,
        on_spooled: Callable[[], None] = lambda: None,
        give_way: Callable[[Callable[[], bool]], None] = lambda is_urgent: None,
        ignored: IgnoredFiles | None = None,
        is_alive: Callable[[str], bool | None] = lambda run_id: None,
        on_prefix_changed: Callable[[str, str], None] = lambda conversation, section: None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`bodies` keeps what went upstream over a restart; `held` and `tally` know what is not durable yet, for the
        proxy that comes after; `refresh` brings a workplace's branch up to date; `on_spooled` is called after each
        group, in the thread; `give_way(is_urgent)` before each piece of work, and may wait until agents are served;
        `pace` is called by `redact`, so that a long piece can stop; `ignored` knows the files whose content is not
        kept, and is in `redact` too; `is_alive(run_id)` as in `Tracker.close_idle`; `on_prefix_changed(conversation,
        section)` when what was forwarded differs from what was forwarded before, and the client did not change it."""
        self._spool = spool
        self._tracker = tracker
        self._stored = StoredResponses()
        self._states = states
        self._wire_log = wire_log
        self._redact = redact
        self._redact_again = lru_cache(MAX_INSERTIONS)(redact)
        self._is_metadata_only = settings.capture.mode == "metadata"
        self._idle_ns = round(settings.mining.idle_s * 1e9)
        self._counts = counts
        self._pace = pace if pace is not None else Pace()
        self._pace.give_way = lambda: self._give_way(self._is_urgent)
        self._held = held if held is not None else HeldExchanges()
        self._tally = tally
        self._max_lag_ns = MAX_HELD_LAG_NS if self._held.is_possible else MAX_LAG_NS
        self._refresh = refresh
        self._on_spooled = on_spooled
        self._give_way = give_way
        self._ignored = ignored
        self._is_alive = is_alive
        self._on_prefix_changed = on_prefix_changed
        self._bodies = bodies
        self._watch = UpstreamWatch(load=self._kept_body)
        self._forwarded = Histories(MAX_FORWARDED_BYTES)
        self._unpacked = Histories(MAX_FORWARDED_BYTES)
        self._is_stopping = False
        self._clock_ns = clock_ns
        self._queue: queue.SimpleQueue[Captured | Packed | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._queued_bytes = 0
        self._packer = ThreadPoolExecutor(1, "packer")
        self._packing = 0
        self._oldest_ns = 0
        self._next_idle_check_s = time.monotonic() + IDLE_CHECK_S
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self.agents: dict[str, AgentCaptures] = {}
        """By harness."""

    def start(self) -> None:
        self._thread.start()

    def recover(self) -> None:
        """Takes what a proxy before was killed with; to be called once, before anything else is submitted."""
        found = self._held.recover()
        running, unsettled = self._tally.found if self._tally is not None else (0, len(found.captured))
        lost = max(unsettled - len(found.captured), found.unreadable)
        if lost:
            _log.error("%d exchanges were answered, and lost when the proxy was killed", lost)
            self._counts.add(counters.LOST, counters.PROXY_KILLED, lost)
        if running:
            self._counts.add(counters.CUT_OFF, amount=running)
        if found.captured:
            _log.warning("%d exchanges that the killed proxy had not recorded are recorded now", len(found.captured))
        if self._tally is not None:
            self._tally.adopted(len(found.captured))
        for captured in found.captured:
            self._queued_bytes += captured.size_bytes
            self._queue.put(captured)

    def begin(self) -> None:
        """One more exchange is under way."""
        if self._tally is not None:
            self._tally.begun()

    def hold(self, known: Captured) -> None:
        """Keeps an exchange that is under way, as far as it is known when its request has left, see `held`."""
        self._held.begin(known.head.id, known.sent_body, known)

    def abandon(self, exchange_id: str) -> None:
        """It is over, and not to be recorded."""
        if self._tally is not None:
            self._tally.over(is_wanted=False)
        self._held.settle((exchange_id,))

    def submit(self, captured: Captured) -> None:
        """Takes an exchange that is over; never waits. From here on kill -9 does not lose it, see `held`."""
        try:
            self._held.end(captured)
        except Exception as error:
            # Recorded it will be all the same, if nobody kills us.
            self._degraded("held", error)
        if self._tally is not None:
            self._tally.over(is_wanted=True)
        self._enqueue(captured)

    def _enqueue(self, captured: Captured) -> None:
        waiting: Captured | Packed = captured
        if self._packing or self._queued_bytes > PACK_FROM_BYTES:
            waiting = thin(captured)  # now: the packer may have a backlog of its own
        size = waiting.size_bytes
        with self._lock:
            is_full = self._queued_bytes + size > MAX_QUEUED_BYTES
            is_packed = not is_full and (self._packing > 0 or self._queued_bytes > PACK_FROM_BYTES)
            if not is_full:
                self._queued_bytes += size
                self._packing += is_packed
        if is_full:
            self._counts.add(counters.LOST, "backlog")
            self._settle((captured.head.id,))
        elif is_packed:
            self._packer.submit(self._pack, waiting, size)
        else:
            self._queue.put(waiting)

    def stop(self, timeout_s: float) -> bool:
        """Records what is queued, then ends; False when that takes longer."""
        if not self._is_stopping:
            self._is_stopping = True
            self._packer.submit(self._queue.put, None)  # behind what is being packed
            self._packer.shutdown(wait=False)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    @property
    def queued_bytes(self) -> int:
        return self._queued_bytes

    @property
    def lag_ns(self) -> int:
        """How long ago the exchange that is being recorded was over; 0 while there is nothing to do."""
        return self._clock_ns() - self._oldest_ns if self._oldest_ns else 0

    def _pack(self, waiting: Captured | Packed, size: int) -> None:
        item = waiting
        try:
            item = pack(waiting)
        except Exception as error:
            # It waits as it is.
            self._degraded("pack", error)
        with self._lock:
            self._queued_bytes += item.size_bytes - size
            self._packing -= 1
            self._queue.put(item)

    def _run(self) -> None:
        is_running = True
        while is_running:
            captured, is_running = self._take()
            if captured:
                self._guarded(lambda group=captured: self._record(group), len(captured))  # type: ignore[misc]  # of a default
            if time.monotonic() >= self._next_idle_check_s:
                self._next_idle_check_s = time.monotonic() + IDLE_CHECK_S
                self._guarded(self._close_idle, 0)

    def _take(self) -> tuple[list[Captured | Packed], bool]:
        """The next group, and whether there may be more."""
        taken: list[Captured | Packed] = []
        size = 0
        try:
            item = self._queue.get(timeout=1.0)
            while item is not None:
                taken.append(item)
                size += item.size_bytes
                if len(taken) >= MAX_GROUP or size > MAX_GROUP_BYTES:
                    break
                item = self._queue.get_nowait()
        except queue.Empty:
            if not taken:
                self._unpacked = Histories(MAX_FORWARDED_BYTES)  # no backlog any more
            return taken, True
        return taken, item is not None

    def _guarded(self, work: Callable[[], None], exchanges: int) -> None:
        try:
            work()
        except Exception as error:
            # The recorder's own border: one group may be lost, the thread must live.
            _log.exception("could not record")
            if exchanges:
                self._counts.add(counters.LOST, f"error:{type(error).__name__}", exchanges)

    def _record(self, captured: Sequence[Captured | Packed]) -> None:
        """Makes the group durable, or counts what of it is lost."""
        plain = [item.rest if isinstance(item, Packed) else item for item in captured]
        self._held.trying([item.head.id for item in plain])
        self._oldest_ns = plain[0].end_time_ns
        group = _Group()
        try:
            self._spool_group(captured, group)
        finally:
            self._settle([item.head.id for item in plain])
        # Only now: a state may not know what the spool does not have. (The next request repeats it then.) And what is
        # held is let go of before: a proxy that recorded it anew would take it for a repetition.
        self._save(group.states.values())
        self._keep_bodies()
        # Last, since it is a convenience, and may take seconds when the log is full.
        for logged in group.logged:
            self._give_way(self._is_urgent)
            self._log_request(*logged)
        self._oldest_ns = 0

    def _settle(self, exchange_ids: Sequence[str]) -> None:
        # In this order: killed between the two, the next proxy records again what it has, and counts no loss.
        if self._tally is not None:
            self._tally.settled(len(exchange_ids))
        self._held.settle(exchange_ids)

    def _spool_group(self, captured: Sequence[Captured | Packed], group: _Group) -> None:
        for item in captured:
            self._give_way(self._is_urgent)
            try:
                self._observe(unpack(item, self._unpacked) if isinstance(item, Packed) else item, group)
            except Exception as error:
                # An exchange that we cannot read must not cost the others of its group.
                _log.exception("could not decode an exchange")
                self._counts.add(counters.LOST, f"error:{type(error).__name__}")
            finally:
                with self._lock:
                    self._queued_bytes -= item.size_bytes
        if self._append(group.payloads):
            self._note_agents(group.harnesses)
            self._counts.add(counters.CAPTURED, amount=len(group.payloads))

    def _observe(self, captured: Captured, group: _Group) -> None:
        exchange = captured.exchange()
        if captured.tap is not None and not captured.tap.is_whole:
            self._counts.add(counters.STRIPPED, "response_too_large")
        asked = captured.asked or _read(captured, exchange)
        request = self._stored.whole(asked.request) if asked.request is not None else None
        response = fold_exchange(exchange, captured.head.endpoint.dialect, request)
        if request is not None:
            self._stored.remember(request, response, len(exchange.request_body))
        self._give_way(self._is_urgent)
        workplace = self._refresh(captured.workplace)
        identity = at_workplace(asked.identity, workplace.harness)
        injected = self._compared(captured, asked.request)
        observed = self._tracker.observe(exchange, request, response, identity, workplace, injected)
        self._give_way(self._is_urgent)
        inference, observation = observed.inference, observed.observation
        if self._ignored is not None:
            messages = request.raw_messages if request is not None else ()
            inference, observation = self._ignored.masked(inference, observation, messages)
        inference, in_inference = redact_inference(inference, self._redact)
        observation, in_observation = redact_observation(observation, self._redact)
        redactions = in_inference + in_observation
        records = encode(
            inference,
            observation,
            request_seed=observed.request_seed,
            price=price_of(inference),
            redactions=redactions,
        )
        group.payloads.append(self._payload(records))
        group.harnesses.append(observation.workplace.harness)
        group.states.update({state.conversation: state for state in observed.changed})
        group.logged.append((captured, records[-1].span_id.hex(), exchange.request_body, request))

    def _compared(self, captured: Captured, request: WireRequest | None) -> Injected:
        """What was injected; with a note, where the upstream body does not go on from the one before and the client did
        not change it."""
        watched = captured.watched
        if watched is None or request is None:
            return captured.injected
        if self._queued_bytes > URGENT_BYTES:
            self._watch.forget(watched.conversation)
            return captured.injected
        try:
            document = request.document
            forwarded = document
            if captured.insertions:
                # The bytes that left, and what such bytes said before: neither plan nor client is asked.
                forwarded = read_again(captured.upstream_body, request.dialect, self._forwarded)
            section = self._watch.check(watched, request.dialect, document, forwarded, len(captured.plain_body))
        except (ValueError, TypeError, RecursionError) as error:
            # A body too strange to be compared must not cost its record.
            self._watch.forget(watched.conversation)
            self._degraded("prefix_watch", error)
            return captured.injected
        if not section:
            return captured.injected
        self._counts.add(counters.PREFIX_CHANGED, f"upstream_{section}")
        self._on_prefix_changed(watched.conversation, section)
        return noted_alarm(captured.injected)

    def _kept_body(self, conversation: str) -> Body | None:
        try:
            return self._bodies.load(conversation) if self._bodies is not None else None
        except sqlite3.Error as error:
            self._degraded("upstream_db", error)
            return None

    def _keep_bodies(self) -> None:
        """With the group that was recorded: one short commit, no wait for the disk."""
        changed = self._watch.take_changed()
        if self._bodies is None or not changed:
            return
        try:
            self._bodies.save(changed, self._clock_ns())
        except sqlite3.Error as error:
            self._watch.not_kept(changed)
            self._degraded("upstream_db", error)

    def _is_urgent(self) -> bool:
        return self._is_stopping or self._queued_bytes > URGENT_BYTES or self.lag_ns > self._max_lag_ns

    def _payload(self, records: list[SpanRecord]) -> bytes:
        return encode_request(strip_records(records) if self._is_metadata_only else records)

    def _append(self, payloads: Sequence[bytes]) -> bool:
        if not payloads:
            return False
        try:
            self._spool.append(payloads, self._clock_ns())
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, type(error).__name__)
            _log.error("the spool cannot be written, %d exchanges are lost: %s", len(payloads), error)
            self._counts.add(counters.LOST, f"disk:{name}", len(payloads))
            return False
        self._on_spooled()
        return True

    def _log_request(self, captured: Captured, request_id: str, body: bytes, request: WireRequest | None) -> None:
        if self._wire_log is None:
            return
        try:
            entry = log_entry(captured, request_id, self._redact_again)
            self._wire_log.write(entry, body, request.document if request is not None else None)
        except sqlite3.Error as error:
            self._degraded("wire_log", error)

    def _save(self, states: Collection[ConversationState]) -> None:
        try:
            if self._states is not None and states:
                self._states.save(((state.conversation, state_to_json(state)) for state in states), self._clock_ns())
        except sqlite3.Error as error:
            self._degraded("state_db", error)

    def _degraded(self, what: str, error: Exception) -> None:
        self._counts.add(counters.DEGRADED, what)
        _log.warning("%s: %s", what, error)

    def _close_idle(self) -> None:
        closed = self._tracker.close_idle(self._clock_ns(), self._idle_ns, self._is_alive)
        payloads = [
            self._payload(encode_observation(redact_observation(observation, self._redact)[0]))
            for observation in closed
        ]
        if self._append(payloads):
            self._counts.add(counters.CAPTURED, "idle_turn", len(payloads))
        self._save(self._tracker.take_changed())

    def _note_agents(self, harnesses: Sequence[str]) -> None:
        now_ns = self._clock_ns()
        for harness in harnesses:
            name = harness if harness in self.agents or len(self.agents) < MAX_AGENTS else "other"
            agent = self.agents.setdefault(name, AgentCaptures())
            agent.count, agent.last_time_ns = agent.count + 1, now_ns


def _read(captured: Captured, exchange: Exchange) -> Asked:
    """What the event loop had no occasion to read: the client went away too early, or the body could not be decoded."""
    endpoint = captured.head.endpoint
    try:
        request = read_request(exchange.request_body, endpoint)
    except MalformedRequestError:
        request = None
    return Asked(exchange, request, identify(exchange, request, endpoint))
