"""CPU time of processes: what a piece of work costs, however busy the machine is and whenever the work is done."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Final

import psutil

LOOK_S: Final = 0.06
QUIET_LOOKS: Final = 2
"""On a busy machine one alone may have fallen between two turns of a process that has much to do."""
QUIET_SHARE: Final = 0.2
"""Of one core, over `LOOK_S`, in all processes together."""
LONGEST_WAIT_S: Final = 20.0


class CpuClock:
    """Reads the CPU time of processes by name. Resolution: the system's clock tick, 10 ms on Linux."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        """Raises:
        psutil.NoSuchProcess: one of them has ended.
        """
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}

    def seconds(self) -> dict[str, float]:
        """User and system time of each so far."""
        return {name: _seconds(process) for name, process in self._processes.items()}

    def since(self, before: Mapping[str, float], count: int, unit_s: float = 1e-3) -> dict[str, float]:
        """Spent since an earlier reading for each of `count` things, in units of `unit_s`."""
        now = self.seconds()
        return {name: (now[name] - before[name]) / unit_s / max(count, 1) for name in now}

    async def quiet(self, names: Iterable[str] | None = None) -> bool:
        """Waits until none of them works any more: what one target left to be done must not slow down the next. False
        when that took longer than `LONGEST_WAIT_S`."""
        chosen = [self._processes[name] for name in (names or self._processes)]
        end, before, looks = time.monotonic() + LONGEST_WAIT_S, sum(map(_seconds, chosen)), 0
        while time.monotonic() < end and looks < QUIET_LOOKS:
            await asyncio.sleep(LOOK_S)
            now = sum(map(_seconds, chosen))
            looks = looks + 1 if now - before <= LOOK_S * QUIET_SHARE else 0
            before = now
        return looks >= QUIET_LOOKS


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
