"""What a process does when its supervisor is gone. The whole of it: tests/e2e/test_kills.py."""

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spanlore.settings import Paths
from spanlore_proxy.launch import orphan
from spanlore_proxy.launch.orphan import before_end, farewell, hand_over
from spanlore_proxy.launch.runs import new_run, write_run


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    made = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    made.ensure()
    return made


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would have been started."""
    commands: list[list[str]] = []

    def popen(command: list[str], **options: Any) -> None:
        assert int(command[-1]) in options["pass_fds"]
        commands.append(command)

    monkeypatch.setattr("subprocess.Popen", popen)
    return commands


@pytest.fixture
def descriptor() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.fileno()


def test_without_agents_there_is_nobody_to_go_on_for(paths: Paths, started: list[list[str]], descriptor: int) -> None:
    """Neither connected nor alive."""
    assert hand_over(paths, descriptor, lambda: False, lambda: 0) is False
    assert started == []


@pytest.mark.parametrize("is_connected", [True, False])
def test_agents_are_not_left_alone(
    paths: Paths, tmp_path: Path, started: list[list[str]], descriptor: int, is_connected: bool
) -> None:
    """Connected now, or a run whose agent lives and is busy with its tools."""
    if not is_connected:
        write_run(paths, new_run("x", tmp_path, os.getpid(), time.time_ns()))

    assert hand_over(paths, descriptor, lambda: False, lambda: int(is_connected)) is True
    assert [command[-1] for command in started] == [str(descriptor)]


def test_it_waits_for_what_is_under_way(paths: Paths, started: list[list[str]], descriptor: int) -> None:
    """Until that is over, but not for ever."""
    under_way = [True, True, False]

    def is_busy() -> bool:
        assert not started
        return under_way.pop(0)

    hand_over(paths, descriptor, is_busy, lambda: 1)
    assert under_way == []
    hand_over(paths, descriptor, lambda: True, lambda: 1, patience_s=0.1)

    assert len(started) == 2


def test_a_farewell_that_fails_keeps_nothing_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are done, too."""
    monkeypatch.setattr(orphan, "_farewells", [])
    done: list[int] = []
    before_end(lambda: done.append(1 // 0))
    before_end(lambda: done.append(2))
    farewell()

    assert done == [2]
