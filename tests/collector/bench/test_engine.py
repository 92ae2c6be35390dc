"""The engine alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_engine_is_timed_with_ready_rows(tmp_path: Path) -> None:
    """For all tables, and for one of them."""
    command = [sys.executable, "-m", "spanlore_collector.bench.engine", str(tmp_path / "store"), "64", "32"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    seconds = json.loads(done.stdout)

    assert seconds["all_tables_s"] > 0
    assert seconds["otel_traces_s"] > 0
