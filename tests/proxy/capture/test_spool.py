import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore_proxy.capture.counters import Counters
from spanlore_proxy.capture.spool import Batch, Spool, SpoolLockedError

MIB = 1024**2


@pytest.fixture
def counts() -> Counters:
    return Counters()


@pytest.fixture
def spool(tmp_path: Path, counts: Counters) -> Iterator[Spool]:
    spool = Spool(tmp_path, max_bytes=64 * MIB, counts=counts)
    yield spool
    spool.close()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix in (".seg", ".stripped"))


def next_batch(spool: Spool, max_bytes: int = MIB, max_records: int = 512) -> Batch:
    batch = spool.next_batch(max_bytes, max_records)
    assert batch is not None
    return batch


def drain(spool: Spool) -> list[bytes]:
    bodies = []
    while (batch := spool.next_batch(MIB, 512)) is not None:
        bodies.append(batch.body)
        spool.acknowledge(batch)
    return bodies


def test_what_is_acknowledged_is_deleted(spool: Spool, tmp_path: Path) -> None:
    """A batch is the concatenation of its records; once acknowledged nothing of it is left on disk."""
    spool.append([b"one,", b"two,"], 5)
    spool.append([b"three"], 6)
    batch = next_batch(spool)
    before = spool.state()
    spool.acknowledge(batch)

    assert (batch.body, batch.count) == (b"one,two,three", 3)
    assert (before.records, before.oldest_time_ns) == (3, 5)
    assert (spool.state().records, spool.state().bytes, spool.next_batch(MIB, 512)) == (0, 0, None)
    assert files(tmp_path) == []


def test_batches_are_bounded(spool: Spool) -> None:
    """By count and by bytes, but a record larger than the bound still goes out, alone."""
    spool.append([b"a" * 10, b"b" * 10, b"c" * 100, b"d"], 1)
    sizes = []
    while (batch := spool.next_batch(25, 2)) is not None:
        sizes.append(len(batch.body))
        spool.acknowledge(batch)

    assert sizes == [20, 100, 1]


def test_a_batch_stays_the_same_until_it_is_settled(spool: Spool, tmp_path: Path, counts: Counters) -> None:
    """Records that come meanwhile, and a restart, change neither its bytes nor its token."""
    spool.append([b"one"], 1)
    first = next_batch(spool)
    spool.append([b"two"], 2)
    again = next_batch(spool)
    spool.close()
    reopened = Spool(tmp_path, max_bytes=64 * MIB, counts=counts)
    after_restart = next_batch(reopened)
    reopened.acknowledge(after_restart)
    rest = next_batch(reopened)
    reopened.close()

    assert first == again == after_restart
    assert rest.body == b"two"


def test_a_restart_goes_on_where_it_was(tmp_path: Path, counts: Counters) -> None:
    """What was acknowledged does not come again, what was not does, in order."""
    for number in range(5):
        spool = Spool(tmp_path, max_bytes=64 * MIB, counts=counts)
        spool.append([b"%d" % number, b"x"], number)
        if number == 2:
            spool.acknowledge(next_batch(spool, max_records=1))
        spool.close()
    spool = Spool(tmp_path, max_bytes=64 * MIB, counts=counts)
    rest = b"".join(drain(spool))
    spool.close()

    assert rest == b"x1x2x3x4x"


def test_a_full_spool_gives_up_content_first(tmp_path: Path, counts: Counters) -> None:
    """The oldest records lose their content before any record is lost, and both are counted."""
    spool = Spool(tmp_path, max_bytes=MIB, counts=counts, strip=lambda payload: payload[:10])
    for number in range(24):
        spool.append([b"%02d" % number + b"x" * 64 * 1024], number)
    state = spool.state()
    kept = drain(spool)
    spool.close()
    numbers = sorted(int(body[at : at + 2]) for body in kept for at in range(len(body)) if body[at : at + 2].isdigit())

    assert state.bytes <= MIB
    assert numbers == list(range(24))
    assert counts.count("stripped", "spool_full") >= 8
    assert counts.count("lost") == 0


def test_then_whole_records_go(tmp_path: Path, counts: Counters) -> None:
    """When nothing is left to strip the oldest records are dropped and counted; the newest stay."""
    spool = Spool(tmp_path, max_bytes=MIB, counts=counts)
    for number in range(40):
        spool.append([b"%02d" % number + b"x" * 64 * 1024], number)
    state = spool.state()
    kept = b"".join(drain(spool))
    spool.close()

    assert state.bytes <= MIB
    assert b"39x" in kept
    assert b"00x" not in kept
    assert counts.count("lost", "spool_full") + state.records == 40


def test_the_batch_under_way_is_not_touched(tmp_path: Path, counts: Counters) -> None:
    """However full the spool gets, the bytes that were announced stay what they are."""
    spool = Spool(tmp_path, max_bytes=MIB, counts=counts, strip=lambda payload: payload[:1])
    spool.append([b"a" * 1000], 0)
    batch = next_batch(spool)
    for number in range(60):
        spool.append([b"x" * 64 * 1024], number)
    same = next_batch(spool)
    spool.close()
    reopened = Spool(tmp_path, max_bytes=MIB, counts=counts)
    after_restart = next_batch(reopened)
    reopened.close()

    assert batch == same == after_restart


def test_stripped_segments_survive_a_crash_half_way(tmp_path: Path, counts: Counters) -> None:
    """Killed between writing the stripped segment and removing the fat one, the stripped one counts."""
    spool = Spool(tmp_path, max_bytes=MIB, counts=counts)
    spool.append([b"fat"], 1)
    spool.close()
    fat = next(tmp_path.glob("*.seg"))
    data = fat.read_bytes()
    fat.with_suffix(".stripped").write_bytes(data.replace(b"fat", b"fat"))
    (tmp_path / "0000000000000009.stripped.tmp").write_bytes(b"half")
    reopened = Spool(tmp_path, max_bytes=MIB, counts=counts)
    bodies = drain(reopened)
    reopened.close()

    assert bodies == [b"fat"]
    assert files(tmp_path) == []


def test_halving_finds_the_refused_record(spool: Spool, tmp_path: Path, counts: Counters) -> None:
    """A batch is halved down to one record, which is set aside and counted; the others are delivered."""
    spool.append([b"a", b"b", b"BAD", b"c", b"d"], 1)
    delivered = []
    while (batch := spool.next_batch(MIB, 512)) is not None:
        if b"BAD" not in batch.body:
            delivered.append(batch.body)
            spool.acknowledge(batch)
        elif batch.count > 1:
            spool.halve(batch)
        else:
            spool.bury(batch, "refused_400")

    assert b"".join(delivered) == b"abcd"
    assert [path.read_bytes() for path in (tmp_path / "dead").iterdir()] == [b"BAD"]
    assert counts.snapshot()["lost"] == {"refused_400": 1}


def test_damage_is_counted(tmp_path: Path, counts: Counters) -> None:
    """Records that cannot be read back are counted as lost; the others are delivered."""
    spool = Spool(tmp_path, max_bytes=MIB, counts=counts)
    spool.append([b"first", b"second", b"third"], 1)
    segment = next(tmp_path.glob("*.seg"))
    data = bytearray(segment.read_bytes())
    data[data.index(b"second")] ^= 0xFF
    segment.write_bytes(data)
    bodies = drain(spool)
    spool.close()

    assert bodies == [b"firstthird"]
    assert counts.snapshot()["lost"] == {"spool_damaged": 1}


def test_only_one_process_has_it(spool: Spool, tmp_path: Path, counts: Counters) -> None:
    """A second proxy on the same state directory is told so."""
    with pytest.raises(SpoolLockedError, match="in use by another"):
        Spool(tmp_path, max_bytes=MIB, counts=counts)


def test_torn_notes_only_repeat(tmp_path: Path, counts: Counters) -> None:
    """Notes that a power cut left empty mean that records are sent again, never that they are skipped."""
    spool = Spool(tmp_path, max_bytes=MIB, counts=counts)
    spool.append([b"a", b"b"], 1)
    spool.acknowledge(next_batch(spool, max_records=1))
    spool.close()
    (tmp_path / "cursor.json").write_bytes(b"")
    (tmp_path / "intent.json").write_text(json.dumps({"sequence": 1, "start": 7, "end": 10**6, "token": "no"}))
    reopened = Spool(tmp_path, max_bytes=MIB, counts=counts)
    bodies = drain(reopened)
    reopened.close()

    assert bodies == [b"ab"]


def test_kill_9_loses_nothing_that_append_returned_for(tmp_path: Path, counts: Counters) -> None:
    """A process that is killed while it writes leaves every record it was told is durable, each once."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from spanlore_proxy.capture.counters import Counters
        from spanlore_proxy.capture.spool import Spool
        spool = Spool(Path(sys.argv[1]), max_bytes=1024**2 * 64, counts=Counters())
        for number in range(10**6):
            spool.append([b"<%d>" % number], number)
            print(number, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [int(process.stdout.readline()) for _ in range(30)]
    process.kill()
    told += [int(line) for line in process.stdout.read().splitlines()]
    process.wait()
    process.stdout.close()
    spool = Spool(tmp_path, max_bytes=64 * MIB, counts=counts)
    found = b"".join(drain(spool))
    spool.close()

    assert found.startswith(b"".join(b"<%d>" % number for number in told))
    assert found.count(b"<0>") == 1
