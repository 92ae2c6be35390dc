import itertools
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.capture.segment import MAGIC, SegmentWriter, count_records, encode_frame, read_records


def payloads(path: Path) -> list[bytes]:
    return [record.payload for record in read_records(path, 0, path.stat().st_size)]


def write(path: Path, *data: bytes) -> None:
    writer = SegmentWriter(path)
    writer.append([(1000 + number, payload) for number, payload in enumerate(data)])
    writer.close()


@contextmanager
def file_size_limit(size_bytes: int) -> Iterator[None]:
    """Writing beyond it fails as on a full disk: EFBIG in place of ENOSPC."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_records_come_back_in_order(tmp_path: Path) -> None:
    """What was appended is read back with its time, in order, and is private to the user."""
    write(tmp_path / "a", b"one", b"", MAGIC * 3)
    records = list(read_records(tmp_path / "a", 0, 10**6))

    assert [record.payload for record in records] == [b"one", b"", MAGIC * 3]
    assert [record.time_ns for record in records] == [1000, 1001, 1002]
    assert [(a.end, b.start) for a, b in itertools.pairwise(records)] == [(23, 23), (43, 43)]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut_bytes", [1, 5, 19, 20, 30])
def test_a_torn_tail_is_left_out(tmp_path: Path, cut_bytes: int) -> None:
    """A record that kill -9 left half written is no record; those before it are."""
    write(tmp_path / "a", b"first", b"the second one")
    size = (tmp_path / "a").stat().st_size
    os.truncate(tmp_path / "a", size - cut_bytes)

    assert payloads(tmp_path / "a") == [b"first"]
    assert count_records(tmp_path / "a", 0, size - cut_bytes) == (1, 1000)


@pytest.mark.parametrize("offset", [0, 6, 10, 22])
def test_damage_costs_one_record(tmp_path: Path, offset: int) -> None:
    """After a damaged frame reading goes on at the next whole one."""
    write(tmp_path / "a", b"first", b"second", b"third")
    data = bytearray((tmp_path / "a").read_bytes())
    data[offset] ^= 0xFF
    (tmp_path / "a").write_bytes(data)

    assert payloads(tmp_path / "a") == [b"second", b"third"]


@given(st.lists(st.binary(max_size=200), max_size=8), st.data())
def test_any_damage_gives_only_true_records(
    tmp_path_factory: pytest.TempPathFactory, data: list[bytes], choose: st.DataObject
) -> None:
    """Whatever bytes are overwritten, nothing is read that was not written."""
    path = tmp_path_factory.mktemp("segment") / "a"
    raw = bytearray(b"".join(encode_frame(7, payload) for payload in data))
    if raw:
        start = choose.draw(st.integers(0, len(raw) - 1))
        raw[start : start + 3] = choose.draw(st.binary(min_size=1, max_size=3))
    path.write_bytes(raw)

    assert set(payloads(path)) <= set(data)


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """When a group does not fit none of it is there, and what comes later still can be written."""
    writer = SegmentWriter(tmp_path / "a")
    writer.append([(1, b"kept")])
    with file_size_limit(100), pytest.raises(OSError):
        writer.append([(2, b"small"), (3, b"x" * 200)])
    writer.append([(4, b"later")])
    writer.close()

    assert payloads(tmp_path / "a") == [b"kept", b"later"]


def test_magic_across_a_block_border_is_found(tmp_path: Path) -> None:
    """The search for the next frame does not miss a magic that two reads share."""
    (tmp_path / "a").write_bytes(b"\0" * (1024**2 - 2) + encode_frame(1, b"found"))

    assert payloads(tmp_path / "a") == [b"found"]
