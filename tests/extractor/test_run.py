import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.anchor import AnchorState
from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.memory.stated import forget
from spanlore.redaction.redact import Redactor
from spanlore_collector.store.api_client import MemoryClient, VersionConflictError
from spanlore_extractor.run import (
    ATTEMPTS,
    FORKS_KEY,
    OPERATIONS_AT_ONCE,
    Progress,
    Report,
    Rules,
    apply_in_parts,
    mine,
)
from support.clock import MovableClock
from support.collecting import Collecting, collecting
from support.told import START_NS, Told, corrected, failing_tests

RULES = Rules(idle_ns=600 * 10**9, window_ns=600 * 10**9, redactor=Redactor(()))
LATER_NS = START_NS + 10**15
"""Long after every told session is over."""


def run(collector: Collecting, now_ns: int = LATER_NS, **more: Any) -> Report:
    return mine(collector.reader, collector.client, RULES, now_ns, **more)


def memories(collector: Collecting, scope: str) -> list[Memory]:
    return [memory for memory in collector.client.memories() if memory.scope == scope]


def test_two_sessions_make_a_memory(collector: Collecting) -> None:
    """From spans in the store to an active memory, over two runs; a run without news does nothing."""
    scope = "github.com/example/two"
    collector.send(failing_tests("two-1", repository=scope).spans())
    run(collector)
    [waiting] = memories(collector, scope)
    collector.send(failing_tests("two-2", START_NS + 10**13, repository=scope).spans())
    run(collector)
    [active] = memories(collector, scope)
    idle = run(collector)

    assert (waiting.status, waiting.session_count) == (Status.CANDIDATE, 1)
    assert (active.status, active.session_count, active.id) == (Status.ACTIVE, 2, waiting.id)
    assert (idle.sessions, idle.operations) == (0, ())


def test_at_once_or_one_by_one_is_the_same(collector: Collecting) -> None:
    """The order of runs does not change what is learned; only creation differs."""
    for scope, step_by_step in (("order/a", True), ("order/b", False)):
        for number in range(3):
            told = failing_tests(f"{scope}-{number}", START_NS + number * 10**12, repository=scope)
            collector.send(told.human("never use rtk").spans())
            if step_by_step:
                run(collector)
        run(collector)

    def shape(memory: Memory) -> tuple[object, ...]:
        return memory.kind, memory.value, memory.status, memory.session_count, memory.alpha, memory.text

    assert sorted(map(shape, memories(collector, "order/a"))) == sorted(map(shape, memories(collector, "order/b")))


def test_a_session_is_mined_when_it_is_over(collector: Collecting) -> None:
    """Not before, unless asked for; and again when it grew."""
    scope = "github.com/example/over"
    told = corrected("over-1", "never use singletons", repository=scope)
    collector.send(told.spans())
    early = run(collector, now_ns=START_NS + 60 * 10**9)
    nothing = memories(collector, scope)
    run(collector)
    one = memories(collector, scope)
    collector.send(told.run("ls", "a").human("always use tabs").spans())
    run(collector)

    assert early.waiting >= 1
    assert nothing == []
    assert [memory.kind for memory in one] == [Kind.CORRECTION]
    assert len(memories(collector, scope)) == 2


def test_active_sessions_by_hand(collector: Collecting) -> None:
    """`spanlore mine` means now."""
    scope = "github.com/example/now"
    collector.send(corrected("by-hand-now-1", "never use macros", repository=scope).spans())

    report = run(collector, now_ns=START_NS + 60 * 10**9, active_too=True)

    assert len(memories(collector, scope)) == 1, report.operations


@pytest.mark.parametrize("seconds", [-3_600, -10 * 366 * 86_400])
def test_a_clock_that_is_set_back(seconds: int, tmp_path: Path) -> None:
    """What is written under an earlier time than what was mined last is mined all the same, also by a collector that
    was started since."""
    clock, scope = MovableClock(tmp_path), "github.com/example/back"
    with collecting(tmp_path, **clock.environment) as moved:
        moved.send(corrected("ahead", "never use globals", repository=scope).spans())
        run(moved)
        clock.move(seconds)
        moved.send(corrected("behind", "always use tabs", repository=scope).spans())
        run(moved)
        assert len(memories(moved, scope)) == 2
    with collecting(tmp_path, **clock.environment) as again:
        again.send(corrected("later", "never write to stdout", repository=scope).spans())
        run(again)

        assert len(memories(again, scope)) == 3


def test_a_dry_run_changes_nothing(collector: Collecting) -> None:
    """It tells what would be learned, and the next run still learns it."""
    scope = "github.com/example/dry"
    collector.send(corrected("dry-1", "never use globals", repository=scope).spans())
    dry = run(collector, dry_run=True)

    assert [operation.memory.scope for operation in dry.operations if operation.memory.scope == scope] == [scope]
    assert memories(collector, scope) == []
    run(collector)
    assert len(memories(collector, scope)) == 1


def test_everything_again_changes_nothing(collector: Collecting) -> None:
    """Mining all sessions once more gives no operation."""
    collector.send(corrected("once-more-1", "never use globals", repository="github.com/example/again").spans())
    run(collector)

    again = run(collector, everything=True)

    assert again.sessions > 0
    assert [item for item in again.operations if item.memory.scope == "github.com/example/again"] == []


def test_a_trap_is_found_across_runs(collector: Collecting) -> None:
    """The first code fix is dropped; when the failure comes back in another session, both are cited."""
    scope = "github.com/example/trap"

    def session(number: int) -> Told:
        told = Told(f"trap-{number}", repository=scope, start_ns=START_NS + number * 10**12).human("go")
        told.run("pytest -q", "E       KeyError: 'TALLY_CURRENCY'", 1).call("Edit", {"file_path": "a.py"}, "ok")
        return told.run("pytest -q", "3 passed")

    collector.send(session(1).spans())
    run(collector)
    assert memories(collector, scope) == []
    collector.send(session(2).spans())
    run(collector)

    [trap] = memories(collector, scope)
    assert (trap.kind, trap.status, trap.session_count) == (Kind.TRAP, Status.ACTIVE, 2)


def test_what_was_forgotten_stays_forgotten(collector: Collecting) -> None:
    """The user's no outlives any evidence."""
    scope = "github.com/example/forgotten"
    collector.send(failing_tests("forgotten-1", repository=scope).spans())
    run(collector)
    collector.client.apply([forget(memories(collector, scope)[0])])
    for number in (2, 3):
        collector.send(failing_tests(f"forgotten-{number}", START_NS + number * 10**12, repository=scope).spans())
    run(collector)

    assert [memory.status for memory in memories(collector, scope)] == [Status.FORGOTTEN]


def test_an_unknown_project_teaches_nothing(collector: Collecting) -> None:
    """Without a repository there is no scope to keep anything in."""
    collector.send(corrected("nowhere-1", "never use globals", repository="").spans())
    report = run(collector)

    assert "the project is not known" in [item.reason for item in report.refused]
    assert memories(collector, "") == []


def test_a_run_without_news_reads_nothing(collector: Collecting) -> None:
    """An idle run mines no session."""
    run(collector)
    report = run(collector)

    assert (report.sessions, report.spans, report.candidates) == (0, 0, ())


@given(st.integers(0, 2**60), st.lists(st.text()), st.lists(st.tuples(st.text(), st.integers(0, 2**60))))
def test_progress_survives(watermark: int, waiting: list[str], mined: list[tuple[str, int]]) -> None:
    """What a run leaves, the next one reads."""
    progress = Progress(watermark, tuple(waiting), tuple(mined))

    assert Progress.from_json(progress.to_json()) == progress


def test_broken_progress_starts_again() -> None:
    """Slow and right."""
    assert (
        Progress.from_json(None)
        == Progress.from_json("{broken")
        == Progress.from_json('{"watermark_ms": []}')
        == Progress()
    )
    assert replace(Progress(), watermark_ms=3) != Progress()


def test_every_agent_for_itself(collector: Collecting) -> None:
    """With isolation the same fact learned by two agents is two memories, each its agent's own."""
    scope = "github.com/example/isolated"
    for number, harness in enumerate(("claude-code", "codex")):
        told = corrected(f"{scope}-{number}", "never use globals", repository=scope, harness=harness)
        collector.send(told.spans())
    mine(collector.reader, collector.client, replace(RULES, is_isolated=True), LATER_NS)

    assert sorted(memory.harness for memory in memories(collector, scope)) == ["claude-code", "codex"]


def test_old_memories_fade_once_a_day(collector: Collecting) -> None:
    """Without any session; a later session brings it back."""
    scope = "github.com/example/fading"
    for number in (1, 2):
        collector.send(failing_tests(f"fading-{number}", START_NS + number * 10**12, repository=scope).spans())
    run(collector)
    [fresh] = memories(collector, scope)
    run(collector, START_NS + 200 * 86_400 * 10**9)
    [faded] = memories(collector, scope)
    collector.send(failing_tests("fading-3", START_NS + 201 * 86_400 * 10**9, repository=scope).spans())
    run(collector, START_NS + 202 * 86_400 * 10**9)
    [back] = memories(collector, scope)

    assert [memory.status for memory in (fresh, faded, back)] == [Status.ACTIVE, Status.CANDIDATE, Status.ACTIVE]


def test_the_tree_and_the_fork_of_a_session(collector: Collecting, tmp_path: Path) -> None:
    """Where the session's checkout is still there, anchors are looked for, and its upstream is told to the proxy."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    remotes = '[remote "origin"]\n\turl = https://h.org/me/app\n[remote "upstream"]\n\turl = https://h.org/them/app\n'
    (tmp_path / ".git" / "config").write_text(remotes)
    (tmp_path / "package.json").write_text('{"scripts": {"test": "bun test"}}')
    for number in (1, 2):
        about = {"repository": "h.org/me/app", "cwd": str(tmp_path)}
        collector.send(failing_tests(f"tree-{number}", START_NS + number * 10**12, **about).spans())
    run(collector)
    [there] = memories(collector, "h.org/me/app")
    (tmp_path / "package.json").write_text('{"scripts": {}}')
    told = Told("tree-3", "h.org/me/app", start_ns=START_NS + 10**13, cwd=str(tmp_path)).human("go").run("ls", "x")
    collector.send(told.spans())
    run(collector)
    [gone] = memories(collector, "h.org/me/app")

    assert (there.anchor_state, gone.anchor_state) == (AnchorState.FRESH, AnchorState.ORPHANED)
    assert gone.id not in [memory.id for memory in collector.client.snapshot()]
    assert json.loads(collector.client.mining_state(FORKS_KEY) or "{}")["h.org/me/app"] == "h.org/them/app"


def test_many_operations_are_applied_in_parts() -> None:
    """In order, none left out; a request to the collector is bounded."""
    memory = Memory("m-0123456789ab", Kind.USAGE, Source.FAILURE_DELTA, Status.CANDIDATE, "a/b", "x")
    operations = [Operation(Verb.ADDED, replace(memory, version=number), "x") for number in range(9_000)]
    parts: list[list[Operation]] = []

    class Client:
        def apply(self, some: Sequence[Operation]) -> int:
            parts.append(list(some))
            return len(some)

    assert apply_in_parts(cast("MemoryClient", Client()), operations) == 9_000
    assert [operation for part in parts for operation in part] == operations
    assert max(map(len, parts)) <= OPERATIONS_AT_ONCE


class Overtaken:
    """A client to whom something happens between what it read and each of its changes."""

    def __init__(self, client: MemoryClient, happens: Callable[[], None]) -> None:
        self._client, self._happens, self.changes = client, happens, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def apply(self, operations: Sequence[Operation]) -> int:
        self.changes += 1
        self._happens()
        return self._client.apply(operations)


def test_two_miners_at_once(collector: Collecting) -> None:
    """A run that the daemon's extractor overtakes starts again: no error, and nothing is learned twice."""
    scope = "github.com/example/overtaken"
    collector.send(failing_tests("overtaken-1", repository=scope).spans())
    collector.send(failing_tests("overtaken-2", START_NS + 10**13, repository=scope).spans())
    client = Overtaken(collector.client, lambda: cast("None", run(collector)))
    report = mine(collector.reader, cast("MemoryClient", client), RULES, LATER_NS)
    [memory] = memories(collector, scope)

    assert client.changes == 1
    assert report.operations == ()
    assert (memory.session_count, memory.version) == (2, 2)


def test_a_run_that_is_always_overtaken_says_so(collector: Collecting) -> None:
    """It gives up after so many attempts, and its sessions stay due."""

    def overtake() -> None:
        raise VersionConflictError("someone else was sooner")

    collector.send(failing_tests("always-1", repository="github.com/example/always").spans())
    client = Overtaken(collector.client, overtake)
    with pytest.raises(VersionConflictError):
        mine(collector.reader, cast("MemoryClient", client), RULES, LATER_NS)

    assert client.changes == ATTEMPTS
    assert run(collector).sessions == 1
