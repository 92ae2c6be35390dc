import threading

from spanlore_proxy.capture.counters import LOST, MAX_REASONS, Counters, Samples


def test_counts_by_name_and_reason() -> None:
    """A count is kept for each reason, and summed over them when none is asked for."""
    counts = Counters()
    counts.add(LOST, "backlog")
    counts.add(LOST, "disk:ENOSPC", 3)

    assert (counts.count(LOST), counts.count(LOST, "backlog"), counts.count("other")) == (4, 1, 0)
    assert counts.snapshot() == {"lost": {"backlog": 1, "disk:ENOSPC": 3}}


def test_a_restart_keeps_what_was_counted() -> None:
    """A loss does not vanish with the process that had it; nonsense in the old file is left out."""
    before = Counters()
    before.add(LOST, "backlog", 2)
    after = Counters({**before.snapshot(), "broken": 1, "odd": {"reason": "many"}})
    after.add(LOST, "backlog")

    assert after.snapshot() == {"lost": {"backlog": 3}, "odd": {}}


def test_counting_is_safe_from_threads() -> None:
    """No count is lost when threads count at once."""
    counts = Counters()

    def work() -> None:
        for _ in range(2000):
            counts.add("captured")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert counts.count("captured") == 8000


def test_reasons_are_bounded() -> None:
    """More reasons than the bound are counted as `other`, so the table cannot grow without end."""
    counts = Counters()
    for number in range(MAX_REASONS + 5):
        counts.add("passthrough", f"reason {number}")

    assert len(counts.snapshot()["passthrough"]) == MAX_REASONS + 1
    assert counts.count("passthrough", "other") == 5


def test_percentiles_of_the_newest() -> None:
    """Percentiles are over the newest values alone; without values there are none."""
    samples = Samples(size=100)
    empty = samples.percentiles()
    for value in range(1000):
        samples.add(value)

    assert empty == {}
    assert samples.percentiles() == {"count": 100, "p50": 949, "p90": 989, "p99": 998, "max": 999}
