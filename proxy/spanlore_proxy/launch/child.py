"""One supervised process: started on its leash, restarted with back-off when it ends by itself, stopped in order."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from spanlore_proxy.launch.daemon import ChildState

FIRST_PAUSE_S: Final = 0.2
LONGEST_PAUSE_S: Final = 10.0
HEALTHY_AFTER_S: Final = 10.0
"""A process that lived this long starts over with the first pause."""
STOP_PATIENCE_S: Final = 8.0
"""Between SIGTERM and SIGKILL; every process of ours ends within 5 s."""
PRIVATE: Final = 0o077
"""Umask of every process of ours: what they write (logs, the engine's files) is the user's alone, wherever it lies."""
MEMORY_FILES: Final = 4
"""Several, since one is emptied only when nothing in it is needed any more."""
MAX_LOG_BYTES: Final = 16 * 1024**2
"""A log larger than this is moved to `<name>.log.1` when its process is started."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Program:
    """What a child runs."""

    name: str
    module: str
    arguments: Sequence[str] = ()
    pass_fds: Sequence[int] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    holds_exchanges: bool = False
    """It is given files in memory that outlive it (`capture.held`), as `--held-fds N,N,…`, the same ones each time."""


class Child:
    """A program that is kept running until `stop`."""

    def __init__(self, program: Program, log_dir: Path, changed: Callable[[], None] = lambda: None) -> None:
        self.program = program
        self.log_file = log_dir / f"{program.name}.log"
        self.failures_in_a_row = 0
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._started_at_ns = 0
        self._restarts = 0
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._held: list[int] = []

    @property
    def state(self) -> ChildState:
        pid = self._process.pid if self._process is not None and self._process.returncode is None else 0
        return ChildState(self.program.name, pid, self._started_at_ns, self._restarts)

    def start(self) -> None:
        self._held = memory_files() if self.program.holds_exchanges else []
        self._task = asyncio.create_task(self._keep_running(), name=self.program.name)

    async def stop(self, patience_s: float = STOP_PATIENCE_S) -> None:
        """Ends the program, by force after `patience_s`, and returns when it is gone."""
        self._stopping.set()
        if self._task is None:
            return
        self._signal("terminate")
        done, _ = await asyncio.wait([self._task], timeout=patience_s)
        if not done:
            log.warning("%s does not end, killing it", self.program.name)
            self._signal("kill")
        await self._task
        while self._held:
            os.close(self._held.pop())

    def log_tail(self, lines: int = 12) -> str:
        """The end of the log, for a message that says why it does not start."""
        try:
            return "\n".join(self.log_file.read_text(errors="replace")[-8192:].splitlines()[-lines:])
        except OSError:
            return ""

    async def _keep_running(self) -> None:
        while not self._stopping.is_set():
            began = time.monotonic()
            code = await self._run_once()
            if self._stopping.is_set():
                return
            self.failures_in_a_row = 0 if time.monotonic() - began > HEALTHY_AFTER_S else self.failures_in_a_row + 1
            pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** max(0, self.failures_in_a_row - 1))
            log.error("%s ended (%s), see %s; again in %.1f s", self.program.name, _ended(code), self.log_file, pause_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause_s)
            self._restarts += 1

    async def _run_once(self) -> int:
        """Returns the exit code once it has ended."""
        reading, writing = os.pipe()
        program = self.program
        # -P: never import from the directory we happen to stand in, which may be an agent's repository.
        command = [sys.executable, "-P", "-m", "spanlore_proxy.launch.leash", str(reading), program.module]
        try:
            _roll(self.log_file)
            self.log_file.touch(mode=0o600)
            with self.log_file.open("ab") as file:
                self._process = await asyncio.create_subprocess_exec(
                    *command,
                    *program.arguments,
                    *(("--held-fds", ",".join(map(str, self._held))) if self._held else ()),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    pass_fds=(reading, *program.pass_fds, *self._held),
                    env=dict(program.environment),
                    umask=PRIVATE,
                    # A Ctrl-C in our terminal is ours to pass on, in order.
                    start_new_session=True,
                )
            os.close(reading)
            reading = -1
            self._started_at_ns = time.time_ns()
            self._changed()
            if self._stopping.is_set():
                self._signal("terminate")
            return await self._process.wait()
        except OSError as error:
            log.error("can't start %s: %s", program.name, error)
            return -1
        finally:
            for descriptor in (reading, writing):
                if descriptor >= 0:
                    os.close(descriptor)

    def _signal(self, verb: str) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                getattr(self._process, verb)()


def memory_files() -> list[int]:
    """Descriptors of new, empty files in memory; none where the system has no such thing. The caller closes them."""
    if not hasattr(os, "memfd_create"):
        return []
    return [os.memfd_create(f"spanlore-exchanges-{number}", os.MFD_CLOEXEC) for number in range(MEMORY_FILES)]


def _ended(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _roll(file: Path) -> None:
    if file.exists() and file.stat().st_size > MAX_LOG_BYTES:
        file.replace(file.with_name(f"{file.name}.1"))
