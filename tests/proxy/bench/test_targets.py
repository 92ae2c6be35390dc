"""Starting what the benchmark compares."""

import json
import threading
import time
from pathlib import Path

import psutil

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.load import latencies_ms, lines
from spanlore_proxy.bench.targets import Stage, drained


async def test_all_targets_answer_and_spanlore_has_everything_on(running: Stage) -> None:
    """Some requests through each; spanlore's carried memories, were captured and lost nothing."""
    before = running.settled()
    async with lines(running.targets, 1) as open_lines:
        found = await latencies_ms(open_lines, conversation(10_000, 2, 1, "targets"), warm=0)
    counts = {name: count - before[name] for name, count in running.settled().items()}

    assert list(found) == ["direct", "bare mitmdump", "spanlore"]
    assert all(len(times) == 2 for times in found.values())
    assert counts["requests"] == counts["injected"] == counts["captured"] == counts["shipped"] == 3
    assert counts["lost"] == counts["passthrough"] == 0


def test_asked_for_its_counts_the_spool_is_delivered_first(tmp_path: Path) -> None:
    """However long that takes, as long as something moves; where nothing does any more, the counts are as they are."""
    status = tmp_path / "status.json"

    def write(shipped: int, waiting: int) -> None:
        fresh = tmp_path / "fresh"
        fresh.write_text(
            json.dumps(
                {
                    "counters": {"captured": {"total": 9}, "shipped": {"total": shipped}},
                    "running": 0,
                    "queue_bytes": 0,
                    "spool": {"records": waiting},
                }
            )
        )
        fresh.replace(status)

    def deliver() -> None:
        for shipped in range(1, 10):
            time.sleep(0.05)
            write(shipped, 9 - shipped)

    write(0, 9)
    delivering = threading.Thread(target=deliver)
    delivering.start()
    counts = drained(status, look_s=0.001, patience_s=10)
    delivering.join()
    write(4, 5)

    assert counts["shipped"] == 9
    assert drained(status, look_s=0.001, patience_s=0.01)["shipped"] == 4


def test_every_process_that_is_compared_is_known(running: Stage) -> None:
    """By name: bare mitmdump and all that a daemon consists of."""
    assert {"bare mitmdump", "supervisor", "proxy", "collector", "extractor"} <= set(running.pids)
    assert all(psutil.pid_exists(pid) for pid in running.pids.values())
    assert set(running.resident_bytes()) == {"proxy", "collector"}
