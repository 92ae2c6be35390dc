import base64
import json
import os
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from spanlore_proxy.capture.runs import Credentials, RunRegistry, parse_proxy_authorization
from spanlore_proxy.demo.store_view import wait_until

RUN = {
    "run_id": "run-0123456789ab",
    "token": "s3cret",
    "created_at_ns": 1,
    "pid": 1,
    "harness": "claude-code",
    "harness_version": "",
    "cwd": "/w/repo/sub",
    "repository": "example.org/o/r",
    "sub_path": "sub",
    "branch": "main",
}


@pytest.fixture
def runs(tmp_path: Path) -> RunRegistry:
    (tmp_path / "run-0123456789ab.json").write_text(json.dumps(RUN))
    return RunRegistry(tmp_path)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("header", "credentials"),
    [
        (basic("run-1:token"), Credentials("run-1", "token")),
        ("basic   " + basic("a:b:c")[6:], Credentials("a", "b:c")),
        (basic("nocolon"), None),
        ("Basic !!!", None),
        ("Basic " + base64.b64encode(b"\xff:\xff").decode(), None),
        ("Bearer abc", None),
        ("", None),
    ],
)
def test_proxy_authorization(header: str, credentials: Credentials | None) -> None:
    """Only a well-formed Basic header says who it is; anything else says nothing and is no error."""
    assert parse_proxy_authorization(header) == credentials


def test_a_run_gives_its_workplace(runs: RunRegistry) -> None:
    """With the right token the workplace is what `spanlore run` wrote down."""
    workplace = runs.workplace(Credentials("run-0123456789ab", "s3cret"))

    assert workplace is not None
    assert (workplace.run_id, workplace.repository, workplace.branch) == ("run-0123456789ab", "example.org/o/r", "main")
    assert (workplace.cwd, workplace.sub_path, workplace.harness) == ("/w/repo/sub", "sub", "claude-code")


def test_a_shell_has_no_workplace(runs: RunRegistry, tmp_path: Path) -> None:
    """Its credentials are known, but nothing says where its agents work."""
    (tmp_path / "shell-0123456789ab.json").write_text(json.dumps({"token": "t", "cwd": ""}))

    assert runs.known(Credentials("shell-0123456789ab", "t")) == {"token": "t", "cwd": ""}
    assert runs.known(Credentials("shell-0123456789ab", "u")) is None
    assert runs.workplace(Credentials("shell-0123456789ab", "t")) is None


@pytest.mark.parametrize(
    "credentials",
    [
        None,
        Credentials("run-0123456789ab", "wrong"),
        Credentials("run-0123456789ab", ""),
        Credentials("run-ffffffffffff", "s3cret"),
        Credentials("../run-0123456789ab", "s3cret"),
        Credentials("x/../run-0123456789ab", "s3cret"),
    ],
)
def test_unknown_runs_are_nobody(runs: RunRegistry, credentials: Credentials | None) -> None:
    """A wrong token, an unknown run and a name that is a path give no workplace."""
    assert runs.workplace(credentials) is None


def test_a_changed_file_is_read_again(runs: RunRegistry, tmp_path: Path) -> None:
    """The file may be rewritten, or be damaged, while the proxy runs."""
    path = tmp_path / "run-0123456789ab.json"
    before = runs.workplace(Credentials("run-0123456789ab", "s3cret"))
    path.write_text(json.dumps({**RUN, "branch": "other"}))
    os.utime(path, ns=(1, 1))
    changed = runs.workplace(Credentials("run-0123456789ab", "s3cret"))
    path.write_text("{")
    os.utime(path, ns=(2, 2))
    damaged = runs.workplace(Credentials("run-0123456789ab", "s3cret"))

    assert before is not None
    assert changed is not None
    assert (before.branch, changed.branch, damaged) == ("main", "other", None)


def test_whether_an_agent_lives(tmp_path: Path) -> None:
    """Its process is asked for, not a later one with its number, nor one that has ended and waits for its parent; of
    shells, damaged files and names that no run has nobody knows."""
    runs, now_ns = RunRegistry(tmp_path), time.time_ns()
    ended = subprocess.Popen(["true"])
    wait_until(lambda: psutil.Process(ended.pid).status() == psutil.STATUS_ZOMBIE, 120)

    def alive(**changes: object) -> bool | None:
        (tmp_path / "run-0123456789ab.json").write_text(json.dumps({**RUN, "created_at_ns": now_ns, **changes}))
        return runs.is_alive("run-0123456789ab")

    assert alive(pid=os.getpid()) is True
    assert alive(pid=os.getpid(), created_at_ns=10**18) is False
    assert alive(pid=ended.pid) is False
    ended.wait()
    assert alive(pid=ended.pid) is False
    assert [alive(pid=pid) for pid in (0, "1", None)] == [None, None, None]
    assert [runs.is_alive(name) for name in ("", "run-ffffffffffff", "../run-0123456789ab")] == [None, None, None]
