"""What a process knows of the store."""

from __future__ import annotations

from spanlore_collector.store.known import KnownHashes, KnownSpans


def test_a_trace_is_asked_about_once() -> None:
    """Unknown traces are named once each; learned ones are known completely."""
    known = KnownSpans()

    assert known.unknown_traces([("t1", "a"), ("t1", "b"), ("t2", "a")]) == ["t1", "t2"]
    known.learn("t1", ["a"])
    assert known.unknown_traces([("t1", "b"), ("t2", "a")]) == ["t2"]
    assert ("t1", "a") in known
    assert ("t1", "b") not in known
    known.stored([("t1", "b")])
    assert ("t1", "b") in known


def test_the_least_recently_used_traces_are_forgotten() -> None:
    """Memory is bounded; a trace that was forgotten has to be asked about again."""
    known = KnownSpans(max_spans=5)
    for trace in ("t1", "t2", "t3"):
        known.learn(trace, ["a"])
    known.unknown_traces([("t1", "a")])
    known.stored([("t3", "b")])

    assert known.unknown_traces([("t1", "a"), ("t2", "a"), ("t3", "a")]) == ["t2"]
    assert ("t3", "b") in known


def test_what_is_stored_is_no_longer_suspect() -> None:
    """Also when its trace has been forgotten meanwhile."""
    known = KnownSpans()
    known.suspects.add(("t1", "a"))
    known.stored([("t1", "a")])

    assert not known.suspects


def test_hashes_are_bounded() -> None:
    """The least recently used hash goes first, and using one keeps it."""
    known = KnownHashes(max_hashes=2)
    known.stored(["a", "b"])
    assert "a" in known
    known.stored(["c"])

    assert ("a" in known, "b" in known, "c" in known, len(known)) == (True, False, True, 2)
