"""A new version is started on what an old one stored, and killed again and again meanwhile: all of it is there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from spanlore.settings import child_environment
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.tables import SessionFactRow
from spanlore_proxy.demo.store_view import wait_until
from support.collector_process import CollectorProcess
from support.older_store import rows_by_table

pytestmark = pytest.mark.slow

TESTS: Final = {"PYTHONPATH": str(Path(__file__).parents[1])}
SEED: Final = 4041
STORED, ALL = 300, 360
PATIENCE_S: Final = 180
"""On a machine that may have much else to do."""
DEATHS: Final = (
    # The table of old content has its other name, and nothing shows it yet.
    ("VIEW content", 1),
    # Of the second piece one kind of spans is there.
    ("INSERT INTO session_facts", 5),
    # Content of a piece is there, and not recorded; with it the facts, which are.
    ("INSERT INTO backfills", 3),
    # All is moved and `content` is what it will be.
    ("DROP TABLE content_before", 1),
)
"""Statements before which the collector is killed, one after another."""
NUMBERS: Final = """
toUInt32(inferences), toUInt32(tool_calls), toUInt32(failures), toUInt32(turns), toUInt32(ifNull(input_tokens, 0))
"""
"""UInt64 is a string in JSON."""
FACTS: Final = f"span_id, {NUMBERS}, title"
SUMS: Final = f"session_id, {NUMBERS}, toUInt32(ifNull(output_tokens, 0))"


def test_an_upgrade_that_is_killed_again_and_again(tmp_path: Path) -> None:
    """Nothing is lost or doubled, each text is shown in every life; what comes meanwhile stands beside it, once."""
    make = [sys.executable, "-m", "support.older_store", str(tmp_path / "store"), str(STORED), str(ALL), str(SEED)]
    subprocess.run(make, env=child_environment(TESTS), check=True)
    for words, count in DEATHS:
        dying = CollectorProcess(tmp_path, ("support.upgrading", words, str(count)), **TESTS)
        dying.launch()
        assert dying.wait(PATIENCE_S) == -9, dying.log[-20:]
    old = {row.hash for row in rows_by_table(STORED, ALL, SEED)["texts"]}

    with CollectorProcess(tmp_path, ("support.upgrading", "", "0"), **TESTS) as collector:
        assert old == set(collector.rows("SELECT DISTINCT hash FROM content"))
        assert collector.post_spans(sample_spans(ALL, seed=SEED)).status == 200
        assert wait_until(lambda: filled(collector), PATIENCE_S)

        status = collector.request("GET", "/v1/status").json()
        expected = rows_by_table(ALL, ALL, SEED)
        assert status["ingest"]["spans"] == ALL - STORED
        assert status["store"]["filling"] == {} and status["store"]["filling_failure"] == ""
        assert not [name for name in status["store"]["tables"] if name.endswith("_before")]
        for table, rows in expected.items():
            if table not in ("texts", "session_facts") and rows:
                assert collector.rows(f"SELECT count() FROM {table}") == [len(rows)], table
        assert sorted(collector.rows(f"SELECT {FACTS} FROM session_facts")) == facts_of(expected["session_facts"])
        assert sorted(collector.rows(f"SELECT {SUMS} FROM sessions")) == sums_of(expected["session_facts"])
        bodies = {(row.hash, row.body) for row in expected["texts"]}
        assert set(map(tuple, collector.rows("SELECT hash, body FROM content"))) == bodies
        assert collector.rows("SELECT count() FROM texts FINAL") == [len(bodies)]


def filled(collector: CollectorProcess) -> bool:
    """Whether all that older versions stored has been moved."""
    return collector.rows("SELECT count() FROM backfills WHERE piece = ''") == [2]


def facts_of(expected: Sequence[SessionFactRow]) -> list[Any]:
    """What the writer makes of the spans."""
    return sorted(
        [row.span_id, row.inferences, row.tool_calls, row.failures, row.turns, row.input_tokens or 0, row.title]
        for row in expected
    )


def sums_of(expected: Sequence[SessionFactRow]) -> list[Any]:
    """Its sessions, added up here."""
    out: dict[str, list[int]] = {}
    for row in expected:
        sums = out.setdefault(row.session_id, [0] * 6)
        one = (row.inferences, row.tool_calls, row.failures, row.turns, row.input_tokens, row.output_tokens)
        out[row.session_id] = [total + (number or 0) for total, number in zip(sums, one, strict=True)]
    return sorted([session_id, *sums] for session_id, sums in out.items())
