"""The ledger on disk survives what the proxy does not."""

import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore_proxy.capture.ledger_db import LedgerDb, LedgerError
from spanlore_proxy.injection.ledger import SYSTEM_ANCHOR, Entry, Placement, PlacementKind, Settled
from support.injecting import Rig, Talk, make_memory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the proxy's database lies."""
    return tmp_path / "proxy.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[LedgerDb]:
    """An open ledger, closed afterwards."""
    opened = LedgerDb(path)
    yield opened
    opened.close()


def make_entry(conversation: str, updated_at_ns: int = 0) -> Entry:
    """A decided conversation with a block."""
    block = Placement(PlacementKind.SESSION_BLOCK, SYSTEM_ANCHOR, f"é {conversation}", ("m-1",))
    return Entry(conversation, is_decided=True, placements=(block,), updated_at_ns=updated_at_ns)


def test_what_was_saved_is_there_for_the_next_process(path: Path, ledger: LedgerDb) -> None:
    """Another connection reads it before the first is closed."""
    ledger.save(make_entry("aa"))
    other = LedgerDb(path)
    found = other.load("aa")
    other.close()

    assert found == make_entry("aa")


def test_an_unknown_conversation_is_none_until_it_is_saved(ledger: LedgerDb) -> None:
    """Not knowing is remembered too, and forgotten with the first save."""
    assert ledger.load("aa") is None
    ledger.save(make_entry("aa"))

    assert ledger.load("aa") == make_entry("aa")


def test_what_the_memory_forgets_the_file_knows(path: Path) -> None:
    """Only so many conversations are held; all others are read again."""
    ledger = LedgerDb(path, max_cached=2)
    for n in range(5):
        ledger.save(make_entry(str(n)))
    found = [ledger.load(str(n)) for n in range(5)]
    ledger.close()

    assert found == [make_entry(str(n)) for n in range(5)]


def test_a_killed_proxy_knows_what_it_sent(path: Path) -> None:
    """kill -9 right after `save` returned costs nothing."""
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from spanlore_proxy.capture.ledger_db import LedgerDb\n"
        "from spanlore_proxy.injection.ledger import Entry\n"
        "LedgerDb(Path(sys.argv[1])).save(Entry('aa', is_decided=True))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    ledger = LedgerDb(path)
    found = ledger.load("aa")
    ledger.close()

    assert done.returncode == -signal.SIGKILL
    assert found == Entry("aa", is_decided=True)


def test_a_restarted_proxy_forwards_the_same_bytes(path: Path) -> None:
    """End to end: block and place are the same after the process is gone, though the memories have changed."""
    talk = Talk()
    before = LedgerDb(path)
    first = Rig([make_memory("a")], ledger=before).send(talk.ask("fix it"))
    before.close()
    after = LedgerDb(path)
    second = Rig([make_memory("b")], ledger=after).send(talk.run("ok"))
    after.close()

    assert first.insertions[0].data == second.insertions[0].data


def test_how_far_the_model_had_come_is_there_after_a_flush(path: Path, ledger: LedgerDb) -> None:
    """It is known at once here; what can't be written waits for the next time."""
    ledger.settle("aa", Settled(3, ""))
    ledger.settle("aa", Settled(5, "e"))
    before = LedgerDb(path)
    blocker = sqlite3.connect(path)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError):
        ledger.flush(1)
    blocker.rollback()
    blocker.close()
    ledger.flush(2)
    after = LedgerDb(path)
    found = [one.settled("aa") for one in (ledger, before, after)]
    unknown = before.settled("bb")
    before.close()
    after.close()

    assert (found, unknown) == ([Settled(5, "e")] * 3, None)


def test_a_damaged_row_keeps_its_conversation_without_a_block(path: Path, ledger: LedgerDb) -> None:
    """Its bytes are lost, and a late block would be worse than none."""
    ledger.save(make_entry("aa"))
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE placements SET entry = x'7b'")
    connection.close()
    other = LedgerDb(path)
    found = other.load("aa")
    other.close()

    assert found == Entry("aa", is_decided=True)


def test_a_locked_file_is_an_error_soon(path: Path, ledger: LedgerDb) -> None:
    """The event loop does not wait for another writer longer than it may, and the entry before stays."""
    ledger.save(make_entry("aa"))
    blocker = sqlite3.connect(path)
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError):
        ledger.save(Entry("aa"))
    blocker.rollback()
    blocker.close()

    assert ledger.load("aa") == make_entry("aa")


def test_a_closed_file_is_an_error_and_not_an_answer(path: Path) -> None:
    """Whoever can't read does not know; that is not the same as unknown."""
    ledger = LedgerDb(path)
    ledger.close()

    with pytest.raises(LedgerError):
        ledger.load("aa")


def test_the_oldest_are_pruned(ledger: LedgerDb) -> None:
    """So many rows written last are kept."""
    for n in range(5):
        ledger.save(make_entry(str(n), updated_at_ns=n))
    ledger.prune(keep=2)
    ledger._cache.clear()

    assert [n for n in range(5) if ledger.load(str(n))] == [3, 4]


def test_the_file_is_the_users_own(path: Path, ledger: LedgerDb) -> None:
    """0600: it holds what was shown."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    """The proxy's shell decides what then; nothing stays open."""
    path.write_bytes(b"no database, but long enough to be looked at as one" * 20)

    with pytest.raises(sqlite3.DatabaseError):
        LedgerDb(path)
