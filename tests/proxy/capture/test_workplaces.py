import asyncio
import json
import threading
from pathlib import Path

import pytest

from spanlore.spans.place import Workplace
from spanlore_proxy.capture.peers import Address, StrangerError
from spanlore_proxy.capture.runs import Credentials, RunRegistry
from spanlore_proxy.capture.workplaces import Checkouts, Workplaces

HERE: Address = ("127.0.0.1", 1)
PROXY: Address = ("127.0.0.1", 2)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a remote, on branch main."""
    git = tmp_path / "repo" / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = https://example.org/o/r.git\n')
    return tmp_path / "repo"


class Finder:
    """Finds what it is told, when it may."""

    def __init__(self, found: Path | None) -> None:
        self.found = found
        self.asked = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def __call__(self, client: Address, proxy: Address) -> Path | None:
        self.asked += 1
        self.may_answer.wait(60)
        return self.found


def made(tmp_path: Path, finder: Finder, lookup_s: float = 1.0) -> Workplaces:
    return Workplaces(RunRegistry(tmp_path), Checkouts(), finder, lookup_s=lookup_s)


async def test_a_runs_word_comes_first(tmp_path: Path, repository: Path) -> None:
    """With a run's credentials nobody is looked up, and the request's own text does not matter."""
    run = {"token": "t", "cwd": "/w", "repository": "example.org/run/it", "branch": "b"}
    (tmp_path / "run-000000000000.json").write_text(json.dumps(run))
    finder = Finder(repository)
    workplaces = made(tmp_path, finder)
    workplaces.introduce("c", Credentials("run-000000000000", "t"), HERE, PROXY)
    workplace = await workplaces.of("c", str(repository))
    workplaces.close()

    assert (workplace.repository, workplace.run_id, finder.asked) == ("example.org/run/it", "run-000000000000", 0)


async def test_else_the_peer_process_once_a_connection(tmp_path: Path, repository: Path) -> None:
    """Without credentials the process is looked up, in a thread and once."""
    finder = Finder(repository / "src")
    workplaces = made(tmp_path, finder)
    for _ in range(3):
        workplaces.introduce("c", None, HERE, PROXY)
        workplace = await workplaces.of("c", "")
    workplaces.close()

    assert workplace == Workplace(
        repository="example.org/o/r", sub_path="src", branch="main", cwd=str(repository / "src")
    )
    assert finder.asked == 1


@pytest.mark.parametrize("found", [None, Path("/")])
async def test_else_what_the_request_says(tmp_path: Path, repository: Path, found: Path | None) -> None:
    """When the process is unknown, or stands in no repository, the request's own text counts."""
    workplaces = made(tmp_path, Finder(found))
    workplaces.introduce("c", None, HERE, PROXY)
    workplace = await workplaces.of("c", str(repository))
    nothing = await workplaces.of("c", "not/absolute")
    workplaces.close()

    assert workplace.repository == "example.org/o/r"
    assert nothing.repository == ""


async def test_a_slow_look_up_holds_nobody(tmp_path: Path, repository: Path) -> None:
    """A request does not wait for its end, only for the bound; the connection's next request knows."""
    finder = Finder(repository)
    finder.may_answer.clear()
    workplaces = made(tmp_path, finder, lookup_s=0.02)
    workplaces.introduce("c", None, HERE, PROXY)
    first = await workplaces.of("c", "")
    finder.may_answer.set()
    async with asyncio.timeout(60):
        while (second := await workplaces.of("c", "")) == Workplace():
            pass
    workplaces.close()

    assert (first, second.repository) == (Workplace(), "example.org/o/r")


async def test_forgotten_connections_leave_nothing(tmp_path: Path, repository: Path) -> None:
    """A closed connection is unknown again."""
    workplaces = made(tmp_path, Finder(repository))
    workplaces.introduce("c", None, HERE, PROXY)
    await workplaces.of("c", "")
    workplaces.forget("c")
    workplaces.forget("never seen")
    workplace = await workplaces.of("c", "")
    workplaces.close()

    assert workplace == Workplace()


async def test_the_branch_is_the_one_now(tmp_path: Path, repository: Path) -> None:
    """A run that checks out another branch is recorded on it; a directory that is gone changes nothing."""
    clock = iter([0.0, 100.0])
    workplaces = Workplaces(RunRegistry(tmp_path), Checkouts(clock=lambda: next(clock)), Finder(None))
    before = Workplace(run_id="run-1", repository="example.org/o/r", branch="old", cwd=str(repository))
    now = workplaces.refreshed(before)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/feature\n")
    later = workplaces.refreshed(before)
    workplaces.close()

    assert (now.branch, later.branch, later.run_id) == ("main", "feature", "run-1")


async def test_what_a_stranger_says_is_not_believed(tmp_path: Path, repository: Path) -> None:
    """Another user of the machine who names a directory of ours gets no workplace, however often they ask."""

    def look_up(client: Address, proxy: Address) -> Path | None:
        raise StrangerError

    workplaces = Workplaces(RunRegistry(tmp_path), Checkouts(), look_up, lookup_s=1.0)
    workplaces.introduce("c", None, HERE, PROXY)
    found = [await workplaces.of("c", str(repository)) for _ in range(2)]
    workplaces.close()

    assert found == [Workplace(), Workplace()]
