"""All rows of the benchmark, measured for real, in few and small rounds."""

import json

import pytest

from spanlore_proxy.bench import rounds
from spanlore_proxy.bench.budgets import DELAY, FLAT, FRAME_DELAY, FRAMES, RATE, SIZES, WORK, judge
from spanlore_proxy.bench.targets import Stage

SMALL = {
    "EACH_ROUND": 2,
    "WARM": 1,
    "BURST_ROUNDS": 1,
    "CONNECTIONS": 2,
    "BURST": 1,
    "STREAM_ROUNDS": 1,
    "FRAME_ROUNDS": 1,
    "SLOW_CHUNKS": 5,
    "FLAT_CHUNKS": 20,
}


async def test_every_row_has_its_figure_interval_and_cpu_time(running: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """And together they can be judged, and written as JSON."""
    for name, value in SMALL.items():
        monkeypatch.setattr(rounds, name, value)
    before = running.settled()
    rows = await rounds.Comparison(running).rows(3)
    by_what = {row["what"]: row for row in rows}

    assert list(by_what) == [*(f"request {size}" for size in SIZES), RATE, WORK, DELAY, FLAT, FRAME_DELAY, FRAMES]
    assert all(row["rounds count"] == 2 for row in rows[:3])
    for row in rows:
        if row["what"] == WORK:
            assert row["requests count"] > before["requests"]
            continue
        key = next(name.removesuffix(" low") for name in row if name.endswith(" low"))
        assert row[f"{key} low"] <= row[key] <= row[f"{key} high"]
        assert any(name.startswith("proxy cpu_") for name in row)
    assert all(row["proxy cpu_ms a request"] > 0 for row in rows[:3])
    assert json.loads(json.dumps(judge(rows)))["bench"] == "proxy"
