import os
import resource
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from spanlore.otlp.codec import decode_request
from spanlore.redaction.redact import Redactor
from spanlore.semconv import gen_ai, lore
from spanlore.settings import Settings
from spanlore.spans.record import SpanRecord
from spanlore_proxy.capture import recorder as recorder_module
from spanlore_proxy.capture.captured import Asked, Captured, request_exchange
from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.held import HeldExchanges, Tally
from spanlore_proxy.capture.packed import pack
from spanlore_proxy.capture.recorder import Recorder
from spanlore_proxy.capture.redacting import redact_with
from spanlore_proxy.capture.spool import Spool
from spanlore_proxy.capture.state_db import StateDb
from spanlore_proxy.capture.strip import CONTENT
from spanlore_proxy.capture.upstream_db import UpstreamDb
from spanlore_proxy.capture.wire_log import WireLog, WireLogReader
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.conversation.tracker import Tracker, state_from_json
from spanlore_proxy.demo.store_view import wait_until
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert
from spanlore_proxy.injection.upstream import Watched
from spanlore_proxy.launch.child import memory_files
from spanlore_proxy.wire.codecs import learn_request, read_request
from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.history import Histories
from support.capture_exchanges import WORKPLACE, captured
from support.capture_messages import message, request_body

KEY = "sk-ant-api03-" + "Zx9" * 31 + "AA"


@dataclass
class Recording:
    """A recorder with everything it writes to."""

    folder: Path
    spool: Spool
    recorder: Recorder
    counts: Counters
    tracker: Tracker

    def end(self) -> list[SpanRecord]:
        """Records what is queued; all spans in the spool."""
        assert self.recorder.stop(10)
        spans = []
        while (batch := self.spool.next_batch(2**22, 512)) is not None:
            spans += decode_request(batch.body)
            self.spool.acknowledge(batch)
        return spans


@contextmanager
def recording(
    folder: Path,
    tracker: Tracker | None = None,
    give_way: Callable[[Callable[[], bool]], None] = lambda is_urgent: None,
    is_alive: Callable[[str], bool | None] = lambda run_id: None,
    on_prefix_changed: Callable[[str, str], None] = lambda conversation, section: None,
    held: HeldExchanges | None = None,
    **settings: Any,
) -> Iterator[Recording]:
    """A started recorder on real files, which has looked for what one before it left."""
    counts = Counters()
    spool = Spool(folder / "spool", max_bytes=2**26, counts=counts)
    redact = redact_with(Redactor())
    states = StateDb(folder / "proxy.sqlite")
    wire_log = WireLog(folder / "wire.sqlite", max_bytes=2**26, redact=redact)
    bodies = UpstreamDb(folder / "proxy.sqlite")
    tracker = tracker or Tracker()
    tally = Tally(folder / "tally")
    recorder = Recorder(
        spool=spool,
        tracker=tracker,
        states=states,
        wire_log=wire_log,
        redact=redact,
        settings=Settings.model_validate(settings),
        counts=counts,
        bodies=bodies,
        held=held,
        tally=tally,
        refresh=lambda workplace: replace(workplace, branch="now"),
        give_way=give_way,
        is_alive=is_alive,
        on_prefix_changed=on_prefix_changed,
    )
    recorder.recover()
    recorder.start()
    try:
        yield Recording(folder, spool, recorder, counts, tracker)
    finally:
        recorder.stop(10)
        spool.close()
        states.close()
        bodies.close()
        wire_log.close()
        tally.close()


def chats(spans: list[SpanRecord]) -> list[SpanRecord]:
    return [span for span in spans if span.name.startswith("chat")]


def test_an_exchange_is_durable_spans(tmp_path: Path) -> None:
    """What is counted as captured is in the spool, with workplace, branch of now, tokens and cost."""
    with recording(tmp_path) as it:
        it.recorder.submit(captured())
        (chat,) = chats(it.end())

    assert (it.counts.count("captured"), it.counts.count("lost")) == (1, 0)
    assert chat.attributes[lore.REPOSITORY] == WORKPLACE.repository
    assert chat.attributes[lore.BRANCH] == "now"
    assert chat.attributes[gen_ai.USAGE_INPUT_TOKENS] == 10
    assert it.recorder.agents["claude-code"].count == 1
    assert (it.recorder.queued_bytes, it.recorder.lag_ns) == (0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memfd_create")
def test_what_a_killed_proxy_had_not_recorded_is_recorded_by_the_next(tmp_path: Path) -> None:
    """Once, with the ids that it would have had; afterwards nothing is held any more, and nothing counts as lost."""
    files = memory_files()
    killed, tally = HeldExchanges(files), Tally(tmp_path / "tally")
    one, cut_off = captured(), replace(captured(), head=replace(captured().head, id="cd" * 8))
    for begun in (one, cut_off):
        tally.begun()
        killed.begin(begun.head.id, begun.sent_body)
    killed.end(one)
    tally.over(is_wanted=True)

    with recording(tmp_path, held=HeldExchanges(files)) as it:
        spans = chats(it.end())
    with recording(tmp_path / "other") as other:
        other.recorder.submit(one)
        expected = chats(other.end())

    assert [span.span_id for span in spans] == [span.span_id for span in expected]
    assert it.counts.count("lost") == 0
    assert it.counts.count("cut_off") == 1
    assert HeldExchanges(files).recover().captured == ()
    assert Tally(tmp_path / "tally").found == (0, 0)
    for descriptor in files:
        os.close(descriptor)


def test_what_cannot_be_had_back_is_counted(tmp_path: Path) -> None:
    """Proxy and supervisor killed together: the next proxy says how many exchanges were answered and are lost."""
    tally = Tally(tmp_path / "tally")
    for _ in range(3):
        tally.begun()
        tally.over(is_wanted=True)
    tally.settled()

    with recording(tmp_path) as it:
        it.end()

    assert it.counts.snapshot()["lost"] == {"proxy_killed": 2}


def test_the_request_log_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a convenience, and may take seconds when it is full: what it is about is in the spool by then."""
    in_spool: list[int] = []
    with recording(tmp_path) as it:
        monkeypatch.setattr(WireLog, "write", lambda *arguments: in_spool.append(it.spool.state().records))
        it.recorder.submit(captured())
        assert it.recorder.stop(10)

    assert in_spool == [1]


def test_the_tally_is_even_whatever_becomes_of_an_exchange(tmp_path: Path) -> None:
    """Recorded, unreadable or not wanted: the next proxy tells nothing as lost that this one has settled."""
    with recording(tmp_path) as it:
        for number in range(4):
            it.recorder.begin()
            one = captured()
            one = replace(one, head=replace(one.head, id=f"{number:016x}"))
            if number == 3:
                it.recorder.abandon(one.head.id)
            else:
                it.recorder.submit(replace(one, tap=None, status_code="?") if number == 1 else one)  # type: ignore[arg-type]
        it.end()

    assert it.counts.count("captured") + it.counts.count("lost") == 3
    assert Tally(tmp_path / "tally").found == (0, 0)


def test_the_log_is_found_by_the_chat_spans_id(tmp_path: Path) -> None:
    """`spanlore explain` takes the id that a chat span shows."""
    with recording(tmp_path) as it:
        it.recorder.submit(captured())
        (chat,) = chats(it.end())
    reader = WireLogReader(tmp_path / "wire.sqlite")
    found = reader.request(chat.span_id.hex())
    reader.close()

    assert found is not None
    assert found.body.encode() == request_body()
    assert chat.attributes[lore.REQUEST_ID] == chat.span_id.hex()


def sent_on(document: dict[str, Any], *, with_block: bool) -> Captured:
    """A request of one conversation, forwarded with a block at the end of its system prompt or without."""
    body = orjson.dumps(document)
    item = captured(body)
    endpoint, exchange = item.head.endpoint, request_exchange(item.head, body)
    request = read_request(body, endpoint)
    item = replace(
        item, asked=Asked(exchange, request, identify(exchange, request, endpoint)), watched=Watched("c", False, "")
    )
    if not with_block:
        return item
    made = insert(body, request, [Addition(SYSTEM, "<spanlore-memory>")])
    return replace(item, forwarded_body=made.body, insertions=made.insertions)


def test_a_prefix_that_the_proxy_changed_is_counted_and_told(tmp_path: Path) -> None:
    """From the bodies that left: the second request lacks what the first had, and the client did not change that. The
    span says so, and whoever has to end injection is told."""
    told: list[tuple[str, str]] = []
    opening = {"messages": [{"role": "user", "content": "hi"}], "system": "You are an agent.", "model": "claude-x"}
    more = [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "go on"}]
    later = {**opening, "messages": [*opening["messages"], *more]}
    with recording(tmp_path, on_prefix_changed=lambda *change: told.append(change)) as it:
        for document, with_block in ((opening, True), (later, True), (later, False)):
            it.recorder.submit(sent_on(document, with_block=with_block))
        spans = chats(it.end())

    assert it.counts.snapshot()["prefix_changed"] == {"upstream_system": 1}
    assert told == [("c", "system")]
    assert ["alarm" in str(span.attributes.get(lore.INJECTED_PLACEMENTS, "")) for span in spans] == [False, False, True]


@pytest.mark.parametrize(("with_block", "expected"), [(True, None), (False, {"upstream_system": 1})])
def test_a_restarted_recorder_compares_with_what_left_before(
    tmp_path: Path, with_block: bool, expected: dict[str, int] | None
) -> None:
    """The digests are on disk; the block that was there has to be there."""
    opening = {"messages": [{"role": "user", "content": "hi"}], "system": "You are an agent.", "model": "claude-x"}
    more = [{"role": "assistant", "content": "yes"}, {"role": "user", "content": "go on"}]
    for document, is_there in ((opening, True), ({**opening, "messages": [*opening["messages"], *more]}, with_block)):
        with recording(tmp_path) as it:
            it.recorder.submit(sent_on(document, with_block=is_there))
            it.end()

    assert it.counts.snapshot().get("prefix_changed") == expected


def test_bodies_that_cannot_be_kept_cost_no_record(tmp_path: Path) -> None:
    """Counted; the exchange is recorded, and what could not be written is written the next time."""
    opening = {"messages": [{"role": "user", "content": "hi"}], "system": "You are an agent.", "model": "claude-x"}
    with recording(tmp_path) as it:
        with sqlite3.connect(tmp_path / "proxy.sqlite") as other:
            other.execute("ALTER TABLE upstream_pairs RENAME TO away")
            it.recorder.submit(sent_on(opening, with_block=True))
            assert wait_until(lambda: it.counts.count("degraded", "upstream_db") > 0, 120)
            other.execute("ALTER TABLE away RENAME TO upstream_pairs")
        it.recorder.submit(sent_on(opening, with_block=True))
        spans = it.end()
        kept = other.execute("SELECT count(*) FROM upstream_pairs").fetchone()
        other.close()

    assert len(chats(spans)) == 2
    assert kept == (1,)


def test_a_change_deep_in_a_remembered_body_is_seen(tmp_path: Path) -> None:
    """What was forwarded before is not parsed again where its bytes are the same, and only there: one letter of the
    block, far in front of what is new, is a change, though client and plan say nothing of it."""
    talk = [{"role": ("user", "assistant")[n % 2], "content": f"{n} {'x' * 2_000}"} for n in range(11)]
    opening = {"model": "claude-x", "system": "You are an agent."}
    items = [sent_on({**opening, "messages": talk[:count]}, with_block=True) for count in (7, 9, 11)]
    changed = replace(items[2], forwarded_body=items[2].forwarded_body.replace(b"<spanlore-", b"<spanlorE-"))
    for last, expected in ((items[2], None), (changed, {"upstream_system": 1})):
        with recording(tmp_path / str(expected)) as it:
            for item in (*items[:2], last):
                it.recorder.submit(item)
            it.end()
        assert it.counts.snapshot().get("prefix_changed") == expected


def test_secrets_reach_neither_spool_nor_log(tmp_path: Path) -> None:
    """Whatever the client or the model said, a key in it is a placeholder before anything is written."""
    with recording(tmp_path) as it:
        it.recorder.submit(captured(request_body(f"my key is {KEY}"), message(f"yours is {KEY}")))
        (chat,) = chats(it.end())
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())

    assert KEY not in repr(chat)
    assert KEY.encode() not in written
    assert int(str(chat.attributes[lore.REDACTIONS])) >= 2


def test_metadata_mode_keeps_no_content(tmp_path: Path) -> None:
    """Only numbers and names are spooled."""
    with recording(tmp_path, capture={"mode": "metadata"}) as it:
        it.recorder.submit(captured())
        spans = it.end()

    assert not {key for span in spans for key in span.attributes} & CONTENT


def test_a_restart_does_not_tell_the_past_again(tmp_path: Path) -> None:
    """The states on disk let the next process go on: only what is new becomes content."""
    with recording(tmp_path) as before:
        before.recorder.submit(captured(request_body("one"), message("first answer", "msg_1")))
        before.end()
    states = StateDb(tmp_path / "proxy.sqlite")
    tracker = Tracker()
    tracker.restore(state_from_json(text) for text in states.load(10))
    states.close()
    with recording(tmp_path, tracker) as after:
        history = request_body("one", "first answer", "two")
        after.recorder.submit(captured(history, message("second answer", "msg_2")))
        (chat,) = chats(after.end())

    assert "one" not in str(chat.attributes[gen_ai.INPUT_MESSAGES])
    assert "two" in str(chat.attributes[gen_ai.INPUT_MESSAGES])
    assert chat.attributes[lore.STEP] == 1


def test_one_bad_exchange_costs_one(tmp_path: Path) -> None:
    """What cannot be recorded is counted with its reason, and the others of its group are recorded."""
    broken = replace(captured(), head=replace(captured().head, endpoint=None))  # type: ignore[arg-type]  # on purpose
    with recording(tmp_path) as it:
        for item in (captured(request_body("a")), broken, captured(request_body("b"))):
            it.recorder.submit(item)
        spans = it.end()

    assert len(chats(spans)) == 2
    assert it.counts.snapshot()["lost"] == {"error:AttributeError": 1}


@pytest.mark.parametrize("end", list(End))
def test_every_end_is_recorded(tmp_path: Path, end: End) -> None:
    """However an exchange ended, it is a span; without a word of an answer, too."""
    silent = replace(captured(end=end), tap=None, status_code=None, response_fields=())
    with recording(tmp_path) as it:
        it.recorder.submit(captured(request_body("a"), end=end))
        it.recorder.submit(replace(silent, plain_body=request_body("b")))
        spans = it.end()

    assert len(chats(spans)) == 2
    assert it.counts.count("lost") == 0


def test_a_full_queue_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue is bounded by bytes; nothing waits for it."""
    monkeypatch.setattr(recorder_module, "MAX_QUEUED_BYTES", 10_000)
    with recording(tmp_path) as it:
        it.recorder.submit(captured(request_body("x" * 20_000)))
        it.recorder.submit(captured())
        spans = it.end()

    assert len(chats(spans)) == 1
    assert it.counts.snapshot()["lost"] == {"backlog": 1}


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can grow: EFBIG in place of ENOSPC."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_is_counted_and_survived(tmp_path: Path) -> None:
    """While nothing can be written exchanges are counted as lost; once there is room they are recorded again."""
    with recording(tmp_path) as it:
        with full_disk():
            it.recorder.submit(captured(request_body("lost")))
            wait_for(it, "lost")
        it.recorder.submit(captured(request_body("kept")))
        spans = it.end()

    assert len(chats(spans)) == 1
    assert it.counts.snapshot()["lost"] == {"disk:EFBIG": 1}
    assert it.counts.count("degraded", "state_db") == 1


def wait_for(it: Recording, name: str) -> None:
    deadline = time.monotonic() + 120
    while not it.counts.count(name) or it.recorder.lag_ns:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(("is_alive", "told"), [(False, ["idle"]), (None, []), (True, [])])
def test_turns_of_dead_agents_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_alive: bool | None, told: list[str]
) -> None:
    """The turn and the call that it left open become spans without a further request; a living agent's stays open."""
    monkeypatch.setattr(recorder_module, "IDLE_CHECK_S", 0.0)
    call = [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"login {KEY}"}}]
    with recording(tmp_path, is_alive=lambda run_id: is_alive, mining={"idle_s": 0}) as it:
        it.recorder.submit(captured(request_body("do it"), message(content=call, stop_reason="tool_use")))
        spans = it.end()

    assert [span.attributes[lore.TURN_END] for span in spans if lore.TURN_END in span.attributes] == told
    tools = [span.attributes for span in spans if span.name.startswith("execute_tool")]
    assert [tool[lore.OUTCOME_REASON] for tool in tools] == ["unanswered"] * len(told)
    assert KEY not in str(tools)


def test_a_huge_answer_is_recorded_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was not kept of an answer is counted."""
    monkeypatch.setattr("spanlore_proxy.capture.tap.MAX_COPY_BYTES", 10)
    with recording(tmp_path) as it:
        it.recorder.submit(captured())
        spans = it.end()

    assert len(chats(spans)) == 1
    assert it.counts.snapshot()["stripped"] == {"response_too_large": 1}


def test_agents_that_never_pause_do_not_keep_it_from_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the loop is busy, what is over is spooled within a bound: kill -9 loses what is not."""
    monkeypatch.setattr(recorder_module, "MAX_LAG_NS", 50_000_000)

    def always_busy(is_urgent: Callable[[], bool]) -> None:
        while not is_urgent():
            time.sleep(0.001)

    with recording(tmp_path, give_way=always_busy) as it:
        for _ in range(5):
            it.recorder.submit(captured())
        wait_for(it, "captured")

        assert it.counts.count("captured") == 5


def test_stop_records_what_is_queued(tmp_path: Path) -> None:
    """Nothing that was handed over is lost by an orderly end."""
    items: list[Captured] = [captured(request_body(f"number {number}")) for number in range(40)]
    with recording(tmp_path) as it:
        for item in items:
            it.recorder.submit(item)
        spans = it.end()

    assert len(chats(spans)) == 40


def test_what_the_event_loop_has_read_makes_no_difference(tmp_path: Path) -> None:
    """Spans and log are the same, whether the recorder parses a body itself or gets it parsed, its past shared."""
    histories, said = Histories(), [f"{n} " + "words " * 200 for n in range(12)]
    bare, read = [], []
    for number, count in enumerate((7, 9, 11, 11)):
        texts = [text.replace("words", "edited", 1) if number == 3 and n == 2 else text for n, text in enumerate(said)]
        item = captured(request_body(*texts[:count]), message(said[count], f"msg_{number}"))
        exchange = request_exchange(item.head, item.plain_body)
        request = read_request(item.plain_body, item.head.endpoint, histories)
        learn_request(item.plain_body, request, histories)
        bare.append(item)
        read.append(replace(item, asked=Asked(exchange, request, identify(exchange, request, item.head.endpoint))))
    spans, logs = [], []
    for name, items in (("bare", bare), ("read", read)):
        with recording(tmp_path / name) as it:
            for item in items:
                it.recorder.submit(item)
            spans.append(it.end())
        reader = WireLogReader(tmp_path / name / "wire.sqlite")
        logs.append([reader.request(one.id) for one in reader.newest(9)])
        reader.close()

    assert len(chats(spans[0])) == len(logs[0]) == 4
    assert spans[0] == spans[1]
    assert logs[0] == logs[1]
    assert read[1].size_bytes > bare[1].size_bytes


def test_a_burst_waits_packed_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a bound on what comes is made small; everything is recorded, once and in the order in which it came."""
    monkeypatch.setattr(recorder_module, "PACK_FROM_BYTES", 1)
    packed: list[int] = []
    real = pack

    def counted(item: Captured) -> Any:
        packed.append(item.size_bytes)
        return real(item)

    monkeypatch.setattr(recorder_module, "pack", counted)
    bodies = [request_body(f"n{n} " + "word " * 20_000) for n in range(12)]
    with recording(tmp_path) as it:
        for body in bodies:
            it.recorder.submit(captured(body))
        spans = it.end()

    texts = [span.attributes[gen_ai.INPUT_MESSAGES] for span in chats(spans)]
    assert len(packed) >= 11
    assert [n for text in texts for n in range(12) if f"n{n} word word" in str(text)] == list(range(12))
    assert (it.counts.count("captured"), it.counts.count("lost")) == (12, 0)
    assert it.recorder.queued_bytes == 0


def test_what_cannot_be_packed_waits_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault of packing costs memory and no exchange."""
    monkeypatch.setattr(recorder_module, "PACK_FROM_BYTES", -1)

    def fails(item: Captured) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(recorder_module, "pack", fails)
    with recording(tmp_path) as it:
        it.recorder.submit(captured())
        assert len(chats(it.end())) == 1

    assert it.counts.count("degraded", "pack") == 1
