"""Sessions on disk."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from spanlore.semconv import gen_ai
from spanlore_collector.bench.disk import resent
from spanlore_collector.bench.sample import sample_spans


def test_resent_history_is_the_same_content() -> None:
    """Later requests carry what earlier ones said, in order; other spans stay."""
    spans = sample_spans(48)
    again = list(resent(spans))
    sizes = [len(str(span.attributes.get(gen_ai.INPUT_MESSAGES, ""))) for span in again]

    assert len(again) == len(spans)
    assert max(sizes) > 10 * max(len(str(span.attributes.get(gen_ai.INPUT_MESSAGES, ""))) for span in spans)


def test_both_ways_hold_the_same_content(tmp_path: Path) -> None:
    """However often the history is sent, the distinct content is the same, and every table is weighed."""
    command = [sys.executable, "-m", "spanlore_collector.bench.disk", str(tmp_path / "store"), "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found = json.loads(done.stdout)

    assert found["new"]["content_bytes"] == found["resent"]["content_bytes"] > 0
    assert found["resent"]["sent_bytes"] > 2 * found["new"]["sent_bytes"]
    assert found["new"]["disk_bytes"] == sum(found["new"]["tables"].values())
