"""Upstream bodies on disk: what was kept comes back, bounded, whatever part of it was written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore_proxy.capture.upstream_db import SEGMENT_PAIRS, UpstreamDb
from spanlore_proxy.injection.upstream import Body, Changed, Pair, Part

PARTS = st.builds(
    Part, st.sampled_from(["tools", "system", "messages"]), st.binary(min_size=16, max_size=16), st.booleans()
)
PAIRS = PARTS.map(lambda part: (part, part)) | st.tuples(st.none() | PARTS, PARTS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "proxy.sqlite"


@pytest.fixture
def db(path: Path) -> Iterator[UpstreamDb]:
    opened = UpstreamDb(path)
    yield opened
    opened.close()


@contextmanager
def fresh() -> Iterator[UpstreamDb]:
    """For generated cases, each of which needs one of its own."""
    with tempfile.TemporaryDirectory() as folder:
        opened = UpstreamDb(Path(folder, "proxy.sqlite"))
        yield opened
        opened.close()


def pairs_of(count: int, seed: int = 0) -> tuple[Pair, ...]:
    """So many messages that went out as they came."""
    parts = [Part("messages", (seed * 100_000 + n).to_bytes(16), n % 2 == 1) for n in range(count)]
    return tuple((part, part) for part in parts)


def keep(db: UpstreamDb, name: str, pairs: tuple[Pair, ...], same: int = 0, now_ns: int = 1, epoch: str = "") -> None:
    db.save({name: Changed(Body(pairs, epoch), same)}, now_ns)


@settings(max_examples=30)
@given(st.lists(PAIRS, max_size=150), st.text(max_size=3))
def test_what_is_kept_comes_back(pairs: list[Pair], epoch: str) -> None:
    """Ours, the client's, and what is both, with section and speaker."""
    with fresh() as db:
        keep(db, "c", tuple(pairs), epoch=epoch)
        found = db.load("c")

    assert found == Body(tuple(pairs), epoch, is_restored=True)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200), st.integers(0, 3)), min_size=1, max_size=5))
def test_only_what_is_new_need_be_written(steps: list[tuple[int, int, int]]) -> None:
    """A body that grows, shrinks, or goes another way from some pair on is the newest one, whatever segments stay."""
    pairs: tuple[Pair, ...] = ()
    with fresh() as db:
        for count, more, seed in steps:
            same = min(count, len(pairs))
            pairs = (*pairs[:same], *pairs_of(more, seed))
            keep(db, "c", pairs, same)
        found = db.load("c")

    assert found is not None
    assert found.pairs == pairs


def test_what_stands_there_is_not_written_again(path: Path, db: UpstreamDb) -> None:
    """The segments before the first new pair are left alone: so a long conversation costs no more than a short one."""
    pairs = pairs_of(10 * SEGMENT_PAIRS)
    keep(db, "c", pairs[:-1])
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE written (segment)")
        other.execute(
            "CREATE TRIGGER note AFTER INSERT ON upstream_pairs BEGIN INSERT INTO written VALUES (new.segment); END"
        )
    keep(db, "c", pairs, len(pairs) - 1)
    written = other.execute("SELECT segment FROM written").fetchall()
    other.close()

    assert written == [(9,)]


def test_bounded(db: UpstreamDb) -> None:
    """The oldest go, by number and by size, with all that belongs to them."""
    for n in range(6):
        keep(db, str(n), pairs_of(10), now_ns=n)
    db.prune(max_conversations=4)
    assert [db.load(str(n)) is not None for n in range(6)] == [False, False, True, True, True, True]
    db.prune(max_pairs=25)

    assert [db.load(str(n)) is not None for n in range(6)] == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    "damage",
    ["UPDATE upstream_pairs SET pairs = x'c3'", "UPDATE upstream_pairs SET pairs = x''", "DELETE FROM upstream_pairs"],
)
def test_a_damaged_body_is_none(path: Path, db: UpstreamDb, damage: str) -> None:
    """It is compared from the next request on, as one that is not known."""
    keep(db, "c", pairs_of(3))
    with sqlite3.connect(path) as other:
        other.execute(damage)
    other.close()

    assert db.load("c") is None
    assert db.load("unknown") is None


def test_a_killed_proxy_has_kept_it(path: Path) -> None:
    """kill -9 right after `save` returned costs nothing."""
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from spanlore_proxy.capture.upstream_db import UpstreamDb\n"
        "from spanlore_proxy.injection.upstream import Body, Changed, Part\n"
        "part = Part('system', bytes(16))\n"
        "UpstreamDb(Path(sys.argv[1])).save({'c': Changed(Body(((None, part),), 'e'), 0)}, 1)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    db = UpstreamDb(path)
    found = db.load("c")
    db.close()

    assert found == Body(((None, Part("system", bytes(16))),), "e", is_restored=True)
