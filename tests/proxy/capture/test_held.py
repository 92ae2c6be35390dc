"""What a killed proxy leaves to the next one. A kill is a second object on the same files: nothing ends in order."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.capture import held as held_module
from spanlore_proxy.capture.captured import Asked, Captured, request_exchange
from spanlore_proxy.capture.held import KEPT_BYTES, MAX_TRIES, HeldExchanges, Recovered, Tally
from spanlore_proxy.capture.packed import MIN_BYTES, Packed, unpack
from spanlore_proxy.conversation.agent import identify
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, insert
from spanlore_proxy.launch.child import memory_files
from spanlore_proxy.wire.codecs import read_request
from spanlore_proxy.wire.content import encode
from spanlore_proxy.wire.exchange import End
from support.capture_exchanges import captured
from support.capture_messages import request_body

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memfd_create")


@pytest.fixture
def files() -> Iterator[list[int]]:
    opened = memory_files()
    yield opened
    for descriptor in opened:
        os.close(descriptor)


def exchange(number: int, body: bytes | None = None) -> Captured:
    one = captured(body)
    return replace(one, head=replace(one.head, id=f"{number:016x}"), end_time_ns=one.end_time_ns + number * 10**9)


def read(one: Captured) -> Captured:
    """With its request read, as the event loop hands it over."""
    asked = request_exchange(one.head, one.plain_body)
    request = read_request(one.plain_body, one.head.endpoint)
    return replace(one, asked=Asked(asked, request, identify(asked, request, one.head.endpoint)))


def whole(found: Recovered) -> list[Captured]:
    return [unpack(one) if isinstance(one, Packed) else one for one in found.captured]


def same(one: Captured, other: Captured) -> bool:
    """All that is recorded of them is equal."""
    taps = [
        (tap.body(), tap.size_bytes, tap.first_chunk_time_ns, tap.last_chunk_time_ns)
        for tap in (one.tap, other.tap)
        if tap
    ]
    return taps[:1] == taps[1:] and replace(one, tap=None) == replace(other, tap=None)


def test_what_was_not_settled_is_had_back_in_order(files: list[int]) -> None:
    """Whatever was over and not durable comes back, whole, in the order in which it was over."""
    held = HeldExchanges(files)
    for number in (3, 1, 2):
        one = exchange(number)
        held.begin(one.head.id, one.sent_body)
        held.end(one)
    held.settle([exchange(1).head.id])

    found = HeldExchanges(files).recover()

    assert [int(one.head.id, 16) for one in whole(found)] == [2, 3]
    assert all(one.sent_body == request_body() and one.tap is not None for one in whole(found))
    assert found.unreadable == 0


def test_an_exchange_comes_back_as_it_was(files: list[int]) -> None:
    """Bodies, insertions, encodings, the request as it was read: with or without a frame of the request's own, which
    has its body alone or all that was known when it had left."""
    plain = read(exchange(1))
    assert plain.asked is not None and plain.asked.request is not None
    woven = insert(plain.sent_body, plain.asked.request, [Addition(SYSTEM, "remember")])
    changed = replace(exchange(2), forwarded_body=woven.body, insertions=woven.insertions)
    packed = encode(plain.sent_body, "gzip")
    fields = (*plain.head.fields, (b"Content-Encoding", b"gzip"))
    zipped = replace(
        exchange(3),
        head=replace(exchange(3).head, fields=fields),
        sent_body=packed,
        forwarded_body=encode(woven.body, "gzip"),
        insertions=woven.insertions,
    )
    message = replace(exchange(4), sent_body=b"{}", forwarded_body=b"{}", status_code=101)
    unanswered = replace(exchange(5), tap=None, status_code=None)
    large = read(exchange(6, request_body("x" * 2 * MIN_BYTES)))
    everything = [plain, changed, zipped, message, unanswered, large]
    held = HeldExchanges(files)
    for way in range(3):
        for number, one in enumerate(everything):
            if (number + way) % 3:
                at_first = replace(one, tap=None, status_code=None, response_fields=(), end=End.ERROR, end_time_ns=0)
                held.begin(one.head.id, one.sent_body, at_first if (number + way) % 3 == 1 else None)
            held.end(one)

        found = whole(HeldExchanges(files).recover())

        assert len(found) == len(everything)
        assert all(same(one, other) for one, other in zip(everything, found, strict=True))
        held.settle([one.head.id for one in everything])


def test_what_is_under_way_is_no_exchange_yet(files: list[int]) -> None:
    """A request whose answer has not ended comes back to nobody, and leaves no bytes."""
    held = HeldExchanges(files)
    held.begin(exchange(1).head.id, b"x" * 1000)

    after = HeldExchanges(files)

    assert after.recover().captured == ()
    assert (len(after), after.size_bytes) == (0, 0)


def test_settled_memory_is_given_back(files: list[int]) -> None:
    """A file in which nothing is needed any more begins anew, on little memory, however much has gone through it."""
    held = HeldExchanges(files)
    for _ in range(2):
        for number in range(200):
            one = exchange(number)
            held.begin(one.head.id, b"x" * 100_000)
            held.end(one)
        held.settle([exchange(number).head.id for number in range(200)])

    assert (len(held), held.size_bytes) == (0, 0)
    assert all(os.fstat(descriptor).st_size <= KEPT_BYTES for descriptor in files)


def test_what_was_there_before_is_never_read(files: list[int]) -> None:
    """A client's body that looks like frames: not where it stood, nor where the next ones stop short of it."""
    victim = HeldExchanges(files)
    victim.end(exchange(7))
    forged = os.pread(files[0], victim.size_bytes, 0)
    victim.settle([exchange(7).head.id])
    held = HeldExchanges(files)
    held.recover()
    for size in range(0, 200, 8):
        held.begin("a" * 16, b" " * size + forged * 20)
        held.settle(["a" * 16])
        assert HeldExchanges(files).recover() == Recovered()
        held.end(exchange(1))
        again = HeldExchanges(files).recover()
        assert ([int(one.head.id, 16) for one in whole(again)], again.unreadable) == ([1], 0)
        held.settle([exchange(1).head.id])


def test_a_kill_within_a_write_leaves_no_frame(files: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the half of a frame nor what stood there before counts: the header is written when all else is there."""
    held = HeldExchanges(files)
    held.end(exchange(1, b"x" * 5_000))
    held.settle([exchange(1).head.id])
    held.end(exchange(2))

    class KilledError(Exception):
        pass

    def killed(descriptor: int, data: bytes, offset: int) -> int:
        raise KilledError

    monkeypatch.setattr(os, "pwrite", killed)
    with pytest.raises(KilledError):
        held.end(exchange(3))
    monkeypatch.undo()

    after = HeldExchanges(files)
    assert [int(one.head.id, 16) for one in whole(after.recover())] == [2]
    after.end(exchange(4))
    assert [int(one.head.id, 16) for one in whole(HeldExchanges(files).recover())] == [2, 4]


def test_one_long_exchange_does_not_keep_all_others(files: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """While one is under way for long, what comes after it goes to other files, which are emptied."""
    monkeypatch.setattr(held_module, "FILE_BYTES", 300_000)
    held = HeldExchanges(files)
    held.begin("f" * 16, b"long")
    for number in range(100):
        held.begin(exchange(number).head.id, b"x" * 100_000)
        held.settle([exchange(number).head.id])

    assert held.size_bytes < 500_000


def test_what_comes_while_a_file_is_given_back_is_held(files: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving memory back takes a while, for which no agent waits: it goes to another file."""
    monkeypatch.setattr(held_module, "KEPT_BYTES", 0)
    held = HeldExchanges(files)
    held.end(exchange(1))
    truncate = os.ftruncate

    def meanwhile(descriptor: int, size: int) -> None:
        held.end(exchange(2))
        truncate(descriptor, size)

    monkeypatch.setattr(os, "ftruncate", meanwhile)
    held.settle([exchange(1).head.id])
    monkeypatch.undo()

    assert [int(one.head.id, 16) for one in whole(HeldExchanges(files).recover())] == [2]


def test_the_bound_holds(files: list[int]) -> None:
    """What does not fit is not held; it is recorded all the same, and what is held is whole."""
    held = HeldExchanges(files, max_bytes=10_000)
    for number in range(10):
        held.end(exchange(number, b"x" * 2_000))

    assert 0 < held.size_bytes <= 10_000
    found = HeldExchanges(files).recover()
    assert 0 < len(found.captured) < 10
    assert found.unreadable == 0


def test_what_kills_the_proxy_does_not_do_so_for_ever(files: list[int]) -> None:
    """With an exchange the recorder begins a few times, then it counts as lost; one that only waits is never given
    up."""
    first = HeldExchanges(files)
    first.end(exchange(1))
    for _ in range(MAX_TRIES + 3):
        assert len(HeldExchanges(files).recover().captured) == 1
    for _ in range(MAX_TRIES):
        after = HeldExchanges(files)
        assert len(after.recover().captured) == 1
        after.trying([exchange(1).head.id])

    told = [HeldExchanges(files).recover() for _ in range(2)]

    assert [(found.captured, found.unreadable) for found in told] == [((), 1), ((), 0)]


@given(cut=st.integers(0, 20_000), garbage=st.binary(max_size=40))
def test_a_frame_that_was_cut_off_costs_itself_only(cut: int, garbage: bytes) -> None:
    """Wherever the kill cut a file, whatever stands behind: the whole exchanges before it come back, nothing raises."""
    files = memory_files()
    try:
        held, ends = HeldExchanges(files), []
        for number in range(3):
            held.end(exchange(number, b"x" * 3_000))
            ends.append(held.size_bytes)
        cut = min(cut, ends[-1])
        os.ftruncate(files[0], cut)
        os.pwrite(files[0], garbage, cut)

        found = HeldExchanges(files).recover()

        left = sum(end <= cut for end in ends)
        assert left <= len(found.captured) <= 3
        assert [int(one.head.id, 16) for one in whole(found)[:left]] == list(range(left))
    finally:
        for descriptor in files:
            os.close(descriptor)


def test_without_files_nothing_is_held() -> None:
    """A proxy without a supervisor works all the same."""
    held = HeldExchanges()
    assert not held.is_possible
    held.begin("0" * 16, b"x")
    held.end(exchange(1))
    held.settle([exchange(1).head.id])

    assert (len(held), held.size_bytes, held.recover().captured) == (0, 0, ())


def test_the_tally_survives_its_process(tmp_path: Path) -> None:
    """The next one knows how many were under way, and how many were over and not durable; then it counts anew."""
    first = Tally(tmp_path / "tally")
    for _ in range(4):
        first.begun()
    first.over(is_wanted=True)
    first.over(is_wanted=True)
    first.over(is_wanted=False)
    first.settled()

    second = Tally(tmp_path / "tally")

    assert (first.found, second.found) == ((0, 0), (1, 1))
    second.adopted(1)
    second.settled()
    assert Tally(tmp_path / "tally").found == (0, 0)
    assert (tmp_path / "tally").stat().st_mode & 0o777 == 0o600
