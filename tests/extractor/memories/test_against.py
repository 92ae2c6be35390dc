from dataclasses import replace

from spanlore.memory.memory import EvidenceRole, Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.against import find_against
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.mining.miner import mine_session
from support.told import START_NS, Told, failing_tests

NOW_NS = START_NS + 10**15


def learned(sessions: int = 2) -> list[Told]:
    return [failing_tests(f"s-{number}", START_NS + number * 10**12) for number in range(sessions)]


def mined(told: list[Told]) -> list:  # type: ignore[type-arg]  # of memories
    candidates = [item for one in told for item in mine_session(one.session(), 600 * 10**9).candidates]
    result = consolidate(candidates, (), {}, Redactor(()), NOW_NS)
    return list({operation.memory.id: operation.memory for operation in result.operations}.values())


def failing(number: int, output: str = "error: unrecognized subcommand 'run'") -> Told:
    told = Told(f"later-{number}", start_ns=START_NS + (number + 10) * 10**12).human("test it")
    return told.run("bun run test 2>&1", output, 2)


def test_the_recommended_form_failing_counts_against() -> None:
    """In the way it was to prevent; a test that fails says nothing about how to run tests."""
    known = mined(learned())
    [(memory_id, evidence)] = find_against([failing(1).session()], known)

    assert memory_id == known[0].id
    assert (evidence.role, evidence.session_id) == (EvidenceRole.AGAINST, "later-1")
    assert find_against([failing(2, "E  AssertionError: 1 != 2").session()], known) == []


def test_failures_before_it_was_learned_do_not_count() -> None:
    """Nor those of another repository."""
    known = mined(learned())
    assert find_against([failing(-20).session()], known) == []
    assert find_against([failing(1).session()], [replace(memory, scope="x/y/z") for memory in known]) == []


def test_enough_against_hides_it() -> None:
    """Each session counts once; below a half it is a candidate again, and a pin holds it."""
    [known] = mined(learned())
    assert known.status is Status.ACTIVE
    found = find_against([failing(number).session() for number in (1, 1, 2, 3)], [known])
    result = consolidate((), [known], {}, Redactor(()), NOW_NS, found)
    last = result.operations[-1].memory
    held = consolidate((), [replace(known, pinned=True)], {}, Redactor(()), NOW_NS, found).operations[-1].memory

    assert (len(result.operations), last.beta, last.status) == (3, known.beta + 3, Status.CANDIDATE)
    assert last.session_count == known.session_count
    assert held.status is Status.ACTIVE
