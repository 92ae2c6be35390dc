"""What a block held, and what came up in the session that read it."""

from dataclasses import replace

from spanlore.memory.memory import Kind, Memory, Source
from spanlore.recall.snapshot import Snapshot
from spanlore_extractor.evaluation.session_blocks import BUDGET_TOKENS, Told, row, told_in
from support.injecting import SCOPE, failure_trigger, make_memory
from support.told import Told as Telling

FAILED = make_memory("pytest", trigger=failure_trigger("pytest -q", "E: no shop", 1))
DONE = make_memory("npm", text="`npm test` fails; `pnpm test` works.", value="pnpm test")
RULE = make_memory("rule", source=Source.CORRECTION, kind=Kind.CORRECTION, text="The user said: no mocks", value="")
IDLE = make_memory("cargo", text="`cargo x` fails; `just x` works.", value="just x")


def told(*memories: Memory) -> list[Told]:
    session = Telling("s1", repository=SCOPE).human("go on with the shop")
    session.run("pytest -q", "E: no shop", 1).run("cd web && pnpm test", "ok")
    return list(told_in(session.session(), Snapshot.of(memories)))


def test_what_came_up() -> None:
    """The failure that it answers, what it recommends; of a person's rule nobody knows."""
    verdicts = {one.memory.id: one.verdict for one in told(FAILED, DONE, RULE, IDLE)}

    assert verdicts == {FAILED.id: "failed", DONE.id: "done", RULE.id: "stated", IDLE.id: "no"}


def test_the_block_keeps_its_budget() -> None:
    """What came up and had no room is counted as lost."""
    long = [replace(IDLE, id=f"m-{n:012x}", slot=f"s{n}", pinned=True, text="word " * 80) for n in range(9)]
    found = told(FAILED, *long)
    counts = row("x", found, 1)

    assert 0 < counts["tokens"] <= BUDGET_TOKENS
    assert (counts["failed"], counts["no"], counts["came_up"], counts["kept"]) == (0, counts["shown"], 1, 0.0)


def test_a_tools_own_trouble_is_in_no_block() -> None:
    """It is known, and stands beside the failure."""
    tool = make_memory("Glob", kind=Kind.HARNESS, text="`Glob` fails; use `Bash`.", trigger=failure_trigger())

    assert [one.is_shown for one in told(tool)] == [False]
