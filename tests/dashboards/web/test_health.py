"""How spanlore itself is."""

import json
import os
from pathlib import Path

import pytest

from spanlore.settings import Paths
from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.health import read_capture, read_overhead, read_overhead_by_hour, read_pace, read_processes

SECOND_NS = 10**9


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(tmp_path / "config", tmp_path / "state")
    paths.ensure()
    return paths


def test_without_a_proxy(paths: Paths) -> None:
    """No word of it is told as that, not as zero."""
    capture = read_capture(paths, 0)

    assert (capture.heartbeat_age_ns, capture.is_silent, capture.share) == (None, True, None)
    assert read_processes(paths) == []


@pytest.mark.parametrize("content", ["", "[]", '{"counters": 3, "spool": [], "overhead_ns": null}'])
def test_a_file_that_makes_no_sense(paths: Paths, content: str) -> None:
    """Half written or of another version: the page still shows."""
    paths.proxy_status_file.write_text(content)

    assert read_capture(paths, 0).captured == 0


def test_what_the_proxy_says(paths: Paths) -> None:
    """Completeness counts what was lost; reasons come with the largest first."""
    document = {
        "written_at_ns": 5 * SECOND_NS,
        "counters": {"captured": {"total": 90}, "shipped": {"total": 88}, "lost": {"full": 1, "cut": 9, "none": 0}},
        "spool": {"records": 2},
        "overhead_ns": {"p50": 100, "p99": 900, "count": 3},
    }
    paths.proxy_status_file.write_text(json.dumps(document))
    capture = read_capture(paths, 6 * SECOND_NS)

    assert (capture.captured, capture.shipped, capture.waiting, capture.lost) == (90, 88, 2, 10)
    assert (capture.share, capture.is_complete, capture.is_silent) == (0.88, False, False)
    assert list(capture.drops["lost"].items()) == [("cut", 9), ("full", 1)]
    assert read_capture(paths, 60 * SECOND_NS).is_silent


def test_processes_are_looked_at(paths: Paths) -> None:
    """What lives and what does not, by what the system says now."""
    listed = [{"name": "proxy", "pid": os.getpid(), "started_at_ns": 1, "restarts": 2}]
    listed.append({"name": "extractor", "pid": 0, "started_at_ns": 1, "restarts": 0})
    paths.daemon_file.write_text(json.dumps({"pid": os.getpid(), "processes": listed}))
    found = read_processes(paths)

    assert [(process.name, process.alive, process.restarts) for process in found] == [
        ("supervisor", True, 0),
        ("proxy", True, 2),
        ("extractor", False, 0),
    ]
    assert found[0].memory_mb > 0


def test_pace_by_agent(reader: Reader) -> None:
    """Calls, failed ones, and percentiles of what was added and of the first token."""
    found = {row["harness"]: row for row in read_pace(reader, 0)}

    assert (found["claude-code"]["calls"], found["claude-code"]["errors"]) == (9, 1)
    assert found["codex"]["overhead_ns"][0] == 180_000
    assert found["codex"]["ttft_ns"][0] == pytest.approx(2 * SECOND_NS / 3)


def test_overhead_of_what_is_stored(reader: Reader) -> None:
    """For a proxy that has just started; nothing where nothing was."""
    found = read_overhead(reader, 0)

    assert (found["p50"], found["count"]) == (180_000, 15)
    assert found["p99"] > 180_000
    assert read_overhead(reader, 2**62) == {}


def test_overhead_by_hour(reader: Reader) -> None:
    """In order, each with its calls."""
    rows = read_overhead_by_hour(reader, 0)

    assert [row["hour_s"] for row in rows] == sorted(row["hour_s"] for row in rows)
    assert sum(row["calls"] for row in rows) == 15
    assert max(row["p99_ns"] for row in rows) > 180_000
