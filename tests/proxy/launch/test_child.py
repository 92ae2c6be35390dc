"""A process that is kept running."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spanlore_proxy.launch import child as child_module
from spanlore_proxy.launch.child import Child, Program


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(120):
        while not condition():  # noqa: ASYNC110 - another process's doing is polled
            await asyncio.sleep(0.01)


def program(folder: Path, code: str) -> Program:
    """A module with this code, where the child finds it."""
    (folder / "stand_in_module.py").write_text(code)
    return Program("worker", "stand_in_module", ("a", "b"), environment={"PYTHONPATH": str(folder), "PATH": os.defpath})


async def test_runs_with_its_arguments_and_logs(tmp_path: Path) -> None:
    """The module is `__main__`, has its arguments, and both its streams go to `<name>.log`."""
    code = (
        "import sys, time\nif __name__ == '__main__':\n"
        "  print(sys.argv[1:], file=sys.stderr, flush=True)\n  time.sleep(60)\n"
    )
    child = Child(program(tmp_path, code), tmp_path)
    child.start()
    await until(lambda: "['a', 'b']" in child.log_tail())
    pid = child.state.pid

    await child.stop()

    assert child.state.pid == 0
    assert child.state.restarts == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_started_again_with_growing_pauses(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A process that dies is started again, each time later; the change is told every time."""
    changes: list[None] = []
    code = "raise SystemExit('no luck')"
    child = Child(program(tmp_path, code), tmp_path, lambda: changes.append(None))
    child.start()
    await until(lambda: len(changes) >= 3)
    await child.stop()

    told = [record.getMessage() for record in caplog.records if "again in" in record.getMessage()]
    assert [float(message.split()[-2]) for message in told[:2]] == [0.2, 0.4]
    assert child.log_tail().splitlines()[-1] == "no luck"
    assert child.failures_in_a_row >= 2


async def test_killed_process_comes_back(tmp_path: Path) -> None:
    """kill -9 costs a fifth of a second."""
    child = Child(program(tmp_path, "import time\ntime.sleep(60)"), tmp_path)
    child.start()
    await until(lambda: child.state.pid)
    first = child.state.pid
    os.kill(first, signal.SIGKILL)
    await until(lambda: child.state.pid not in (0, first))

    assert child.state.restarts == 1
    await child.stop()


async def test_deaf_process_is_killed(tmp_path: Path) -> None:
    """One that ignores SIGTERM is gone after the patience."""
    code = (
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(60)"
    )
    child = Child(program(tmp_path, code), tmp_path)
    child.start()
    await until(lambda: "deaf" in child.log_tail())
    pid = child.state.pid

    await child.stop(patience_s=0.1)

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_stop_during_a_pause_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it waits to start again, stopping does not wait for the pause to end."""
    monkeypatch.setattr(child_module, "FIRST_PAUSE_S", 3_600.0)
    monkeypatch.setattr(child_module, "LONGEST_PAUSE_S", 3_600.0)
    child = Child(program(tmp_path, "raise SystemExit(1)"), tmp_path)
    child.start()
    await until(lambda: child.failures_in_a_row == 1)

    async with asyncio.timeout(60):
        await child.stop()

    assert (child.state.pid, child.failures_in_a_row) == (0, 1)


async def test_our_directory_is_not_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the directory we stand in, an agent's repository, never shadows the library's."""
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "json.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path / "repository")
    child = Child(program(tmp_path, "import json, time\nprint(json.__file__, flush=True)\ntime.sleep(60)"), tmp_path)
    child.start()
    await until(child.log_tail)
    await child.stop()

    assert str(Path(os.__file__).parent) in child.log_tail()


async def test_large_log_is_rolled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log over the bound is moved aside when its process starts."""
    monkeypatch.setattr(child_module, "MAX_LOG_BYTES", 10)
    (tmp_path / "worker.log").write_text("x" * 11)
    child = Child(program(tmp_path, "import time\ntime.sleep(60)"), tmp_path)
    child.start()
    await until(lambda: child.state.pid)
    await child.stop()

    assert (tmp_path / "worker.log.1").read_text() == "x" * 11


async def test_what_it_writes_is_its_users_alone(tmp_path: Path) -> None:
    """Its log and its files, whatever the umask of whoever started it."""
    made = str(tmp_path / "made")
    code = f"import time\nopen({made!r}, 'w').close()\nprint('done', flush=True)\ntime.sleep(60)"
    child = Child(program(tmp_path, code), tmp_path)
    child.start()
    await until(lambda: "done" in child.log_tail())
    await child.stop()

    assert (tmp_path / "worker.log").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memfd_create")
async def test_what_a_program_holds_outlives_it(tmp_path: Path) -> None:
    """A program that is started again finds in its files what it wrote before; they end with the child."""
    code = (
        "import os, sys\nif __name__ == '__main__':\n"
        "  fd = int(sys.argv[-1].split(',')[0])\n"
        "  print('found', os.pread(fd, 9, 0), flush=True)\n"
        "  os.pwrite(fd, b'exchanges', 0)\n  raise SystemExit(1)\n"
    )
    child = Child(replace(program(tmp_path, code), holds_exchanges=True), tmp_path)
    child.start()
    await until(lambda: "found b'exchanges'" in child.log_tail())
    held = list(child._held)
    await child.stop()

    assert child.log_tail().splitlines()[0] == "found b''"
    for descriptor in held:
        with pytest.raises(OSError):
            os.fstat(descriptor)
