"""What all reading queries have in memory together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from spanlore_collector.store.client import Store
from spanlore_collector.store.reader_guard import QueryError
from spanlore_collector.store.reader_memory import MemoryWatch
from spanlore_collector.store.sessions import SessionPool


class Queries:
    """Queries that have what they are told to have."""

    def __init__(self, **sizes: int) -> None:
        self.sizes = sizes
        self.killed: list[str] = []
        self.watch = MemoryWatch(lambda: self.sizes, self.killed.append, max_bytes=100)
        for name in sizes:
            self.watch.began(name)


def test_the_largest_of_several_is_ended() -> None:
    """Once; while it dies the others are counted without it."""
    queries = Queries(a=40, b=50, c=30)

    assert [queries.watch.look() for _ in range(2)] == ["b", ""]
    assert queries.killed == ["b"]
    assert (queries.watch.has_ended("b"), queries.watch.has_ended("a")) == (True, False)
    queries.watch.ended("b")
    assert not queries.watch.has_ended("b")


def test_what_is_within_the_bound_runs_on() -> None:
    """As does one alone, whose bound is the engine's."""
    assert Queries(a=50, b=50).watch.look() == ""
    assert Queries(a=500).watch.look() == ""


def test_only_reading_queries_are_ended() -> None:
    """The writer's stands in the same list."""
    queries = Queries(a=40, b=50)
    queries.sizes["insert"] = 10_000

    assert queries.watch.look() == ""


def test_it_goes_on_after_an_error() -> None:
    """One look that fails is not the last."""
    looks: list[int] = []
    again = threading.Event()

    def look() -> dict[str, int]:
        looks.append(1)
        if len(looks) == 1:
            raise RuntimeError("no answer")
        again.set()
        return {}

    watch = MemoryWatch(look, lambda name: None)
    watch.start()
    watch.began("a")
    watch.began("b")
    try:
        assert again.wait(20)
    finally:
        watch.stop()


@pytest.fixture
def pool(store: Store) -> Iterator[SessionPool]:
    """Sessions on the embedded store."""
    if not store.path:
        pytest.skip("a server guards itself")
    pool = SessionPool(store.path, store.database, size=4)
    yield pool
    pool.close()


def test_greedy_queries_leave_room(pool: SessionPool) -> None:
    """Three that want 200 MB each: who is not answered is told why, a small one is answered, and so is one alone.

    How many of the three are answered says how fast the machine ends the others."""
    greedy = "SELECT uniqExact(number + {0}) FROM numbers(4000000)"

    def ask(number: int) -> int:
        try:
            pool.run(greedy.format(number))
        except QueryError as refused:
            return refused.code
        return 0

    with ThreadPoolExecutor(3) as threads:
        codes = set(threads.map(ask, range(6)))
        assert pool.run("SELECT 1").data == b"1\n"

    assert codes <= {0, 241}
    assert ask(6) == 0
