"""CPU time of processes."""

import os
import subprocess
import sys
import time

import pytest

from spanlore_proxy.bench import cpu
from spanlore_proxy.bench.cpu import CpuClock

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\nprint('.', flush=True)\n"


def test_what_a_process_worked_is_counted_and_what_it_slept_is_not() -> None:
    """Of its own name, for each of the things done."""
    with subprocess.Popen([sys.executable, "-c", f"{BURN}time.sleep(60)"], stdout=subprocess.PIPE) as worker:
        clock = CpuClock({"worker": worker.pid, "test": os.getpid()})
        assert worker.stdout is not None
        worker.stdout.readline()
        before = clock.seconds()
        time.sleep(0.1)

        assert before["worker"] >= 0.28
        assert clock.since(before, 10)["worker"] <= 2
        assert clock.since({"worker": before["worker"] - 0.3, "test": 0.0}, 10)["worker"] >= 30
        worker.kill()


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([0.0, 0.05, 0.05, 0.10, 0.10, 0.10], True),
        ([n * 0.05 for n in range(100_000)], False),
    ],
    ids=["done-at-last", "never-done"],
)
async def test_quiet_is_waited_for(readings: list[float], expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until nothing was done in two looks, but not for ever."""
    read = iter(readings)
    monkeypatch.setattr(cpu, "_seconds", lambda process: next(read))
    monkeypatch.setattr(cpu, "LOOK_S", 0.001)
    monkeypatch.setattr(cpu, "LONGEST_WAIT_S", 10.0 if expected else 0.05)

    assert await CpuClock({"test": os.getpid()}).quiet() is expected
    assert not expected or next(read, None) is None
