import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spanlore_extractor.__main__ import DOWN_S, LOOK_S, wait_after
from spanlore_extractor.run import Report
from support.collecting import Collecting
from support.told import START_NS, corrected


@pytest.mark.parametrize(
    ("report", "interval_s", "idle_s", "wait_s"),
    [
        (None, 900, 600, DOWN_S),
        (None, 0.5, 600, 0.5),
        (Report(), 900, 600, 900),
        (Report(waiting=1), 900, 600, LOOK_S),
        (Report(waiting=1), 900, 4, 2),
        (Report(waiting=1), 0.5, 600, 0.5),
    ],
)
def test_when_the_next_run_is(report: Report | None, interval_s: float, idle_s: float, wait_s: float) -> None:
    """Soon after a failure and while sessions are waiting, else at the interval."""
    assert wait_after(report, interval_s, idle_s) == wait_s


def process(environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    changed = {**environment, "SPANLORE_MINING_INTERVAL_S": "0.2", "SPANLORE_MINING_IDLE_S": "0"}
    with log.open("wb") as file:
        return subprocess.Popen([sys.executable, "-m", "spanlore_extractor"], env=changed, stderr=file)


def end(running: subprocess.Popen[bytes]) -> int:
    running.send_signal(signal.SIGTERM)
    return running.wait(timeout=300)


def test_it_mines_by_itself(collector: Collecting, tmp_path: Path) -> None:
    """A session that has gone idle is mined without a command, its note is written, and SIGTERM ends the
    process in order."""
    scope = "github.com/example/schedule"
    collector.send(corrected("schedule-1", "never use gotos", START_NS - 10**15, repository=scope).spans())
    notes = tmp_path / "notes"
    noted = {"SPANLORE_NOTES_ENABLED": "true", "SPANLORE_NOTES_DIRECTORY": str(notes)}
    running = process({**collector.environment, **noted}, tmp_path / "log")
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and not list(notes.glob("memories/github.com-example-schedule/*.md")):
            time.sleep(0.1)
    finally:
        code = end(running)

    assert len(collector.client.memories(scope=scope)) == 1
    assert len(list(notes.glob("memories/github.com-example-schedule/*.md"))) == 1
    assert code == 0


def test_it_waits_for_the_collector(tmp_path: Path) -> None:
    """Without a daemon it says so, stays, and ends when told to."""
    environment = {"SPANLORE_STATE_DIR": str(tmp_path / "state"), "SPANLORE_CONFIG_DIR": str(tmp_path / "config")}
    running = process({**environment, "PATH": "/usr/bin:/bin"}, tmp_path / "log")
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and b"waiting for the collector" not in (tmp_path / "log").read_bytes():
            time.sleep(0.1)
        assert running.poll() is None
    finally:
        code = end(running)

    assert b"waiting for the collector" in (tmp_path / "log").read_bytes()
    assert code == 0


def test_wrong_settings(tmp_path: Path) -> None:
    """Exit code 2 with the setting's name."""
    environment = {
        "SPANLORE_STATE_DIR": str(tmp_path),
        "SPANLORE_CONFIG_DIR": str(tmp_path),
        "SPANLORE_MINING_IDLE_S": "x",
    }
    done = subprocess.run(
        [sys.executable, "-m", "spanlore_extractor"], env=environment, capture_output=True, timeout=300
    )

    assert done.returncode == 2
    assert b"SPANLORE_MINING_IDLE_S" in done.stderr


def test_checkpoints_mine_what_still_runs(collector: Collecting, tmp_path: Path) -> None:
    """With `mining.checkpoint_s` a session that is not over is mined where it stands; without it, it waits."""
    scope = "github.com/example/checkpoint"
    told = corrected("checkpoint-1", "never use threads", time.time_ns() - 5 * 10**9, repository=scope)
    collector.send(told.spans())
    running_still = {**collector.environment, "SPANLORE_MINING_INTERVAL_S": "0.2", "SPANLORE_MINING_IDLE_S": "3600"}
    for every_s, count in (("0", 0), ("0.5", 1)):
        environment = {**running_still, "SPANLORE_MINING_CHECKPOINT_S": every_s}
        with (tmp_path / f"log-{count}").open("wb") as log:
            running = subprocess.Popen([sys.executable, "-m", "spanlore_extractor"], env=environment, stderr=log)
        try:
            until = time.monotonic() + 120
            while time.monotonic() < until and len(collector.client.memories(scope=scope)) < count:
                time.sleep(0.1)
            if not count:
                time.sleep(3)
        finally:
            end(running)

        assert len(collector.client.memories(scope=scope)) == count
