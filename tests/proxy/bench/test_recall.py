"""The recall benchmark: small, and with budgets that can be broken."""

from pathlib import Path

import orjson
import pytest

from spanlore.recall.snapshot import Snapshot
from spanlore_proxy.bench import recall
from spanlore_proxy.bench.cache_sessions import SCOPE


def test_decisions_are_timed_by_kind() -> None:
    """Four kinds of requests, each with its own percentiles."""
    rows = recall.decisions(recall.made_up(50), 10)

    assert [row["what"].split(", ")[1] for row in rows] == [
        "first prompt", "later prompt", "failing result", "plain result",
    ]  # fmt: skip
    assert all(0 < row["p50_ms"] <= row["p99_ms"] for row in rows)


def test_some_prompts_are_about_something_known_and_some_are_not() -> None:
    """Else the benchmark would time an empty search, or always the same one."""
    snapshot = Snapshot.of(recall.made_up(1_000))
    clear = [any(hit.is_clear for hit in snapshot.search(SCOPE, "", prompt, 8)) for prompt in recall.prompts(40)]

    assert 5 < sum(clear) < 40


@pytest.mark.parametrize("what", ["decision, x", "warm API, x", "command, x"])
def test_each_budget_can_be_broken(what: str) -> None:
    """A row over its limit is told."""
    slow, quick = {"what": what, "p50_ms": 1e6, "p99_ms": 1e6}, {"what": what, "p50_ms": 0.1, "p99_ms": 0.1}

    assert not recall.judge([slow])["within_budget"]
    assert recall.judge([quick])["within_budget"]
    assert orjson.dumps(recall.judge([quick]))
    assert max(map(len, recall.table(recall.judge([quick])).splitlines())) <= 80


@pytest.mark.slow
def test_the_daemon_answers(tmp_path: Path) -> None:
    """API and command against a daemon that holds the memories."""
    rows = recall.daemon_rows(tmp_path, recall.made_up(20), 4, 1)

    assert [row["what"].partition(",")[0] for row in rows] == ["warm API", "command"]
    assert all(row["p50_ms"] > 0 for row in rows)
