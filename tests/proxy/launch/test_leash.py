"""A child that never outlives its supervisor."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def start(folder: Path, code: str, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """The module on a leash, up, and the end of the leash that we hold."""
    (folder / "leashed.py").write_text(code)
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "spanlore_proxy.launch.leash", str(reading), "leashed", *arguments],
        pass_fds=(reading,),
        env={"PYTHONPATH": str(folder), "PATH": os.defpath},
        stdout=subprocess.PIPE,
    )
    os.close(reading)
    return process, writing


def test_ends_when_the_other_end_is_closed(tmp_path: Path) -> None:
    """Whatever closes it: the process gets SIGTERM, as it would from `spanlore down`."""
    code = (
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "print(sys.argv[1:], flush=True)\ntime.sleep(60)"
    )
    process, leash = start(tmp_path, code, "x")
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"['x']\n"
        os.close(leash)

        assert process.wait(20) == 7


def test_deaf_process_is_killed(tmp_path: Path) -> None:
    """A process that ignores SIGTERM is killed after the patience."""
    code = (
        "import os, signal, threading, time\nfrom spanlore_proxy.launch.leash import watch\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nreading, writing = os.pipe()\n"
        "threading.Thread(target=watch, args=(reading, 0.1), daemon=True).start()\nos.close(writing)\ntime.sleep(60)"
    )
    process, leash = start(tmp_path, code)
    with process:
        assert process.wait(20) == -signal.SIGKILL
    os.close(leash)


def test_exit_code_is_the_modules(tmp_path: Path) -> None:
    """A module that ends by itself ends the process with its code."""
    process, leash = start(tmp_path, "raise SystemExit(5)")
    with process:
        assert process.wait(20) == 5
    os.close(leash)
