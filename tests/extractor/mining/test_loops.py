from spanlore_extractor.mining.failures import find_deltas
from spanlore_extractor.mining.loops import Loop, find_loops
from support.told import Told

BOOM = ("docker build .", "ERROR: failed to solve: no route to registry", 1)


def loops(told: Told) -> list[Loop]:
    conversation = told.session().conversations[0]
    return find_loops(conversation, find_deltas(conversation, 600 * 10**9).deltas)


def test_three_of_one_signature() -> None:
    """The same failure again and again, never answered."""
    [loop] = loops(Told().run(*BOOM).run("ls").run(*BOOM).run(*BOOM))

    assert len(loop.steps) == 3
    assert loop.lost_ns > 0


def test_twice_is_no_loop() -> None:
    """Nor are three calls of one inference."""
    assert loops(Told().run(*BOOM).run(*BOOM)) == []
    assert loops(Told().run(*BOOM).run(*BOOM, parallel=True).run(*BOOM, parallel=True)) == []


def test_what_was_solved_is_no_dead_end() -> None:
    """A chain with an answer is a delta."""
    told = Told()
    for _ in range(3):
        told.run("rtk bun test", "error: unrecognized subcommand 'bun'", 2)

    assert loops(told.run("bun test", "ok")) == []


def test_refused_edits_and_probes_are_no_dead_ends() -> None:
    """Only commands that were to do something."""
    told = Told()
    for _ in range(3):
        told.fails("Edit", {"file_path": "a", "old_string": "x"}, "String to replace not found in file.")
        told.run("ls nowhere", "ls: nowhere: No such file or directory", 1)

    assert loops(told) == []
