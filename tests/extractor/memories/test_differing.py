from collections.abc import Iterable
from dataclasses import replace

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status
from spanlore.memory.merging import merge
from spanlore.memory.operations import Operation, Verb
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.memories.differing import LOST, baseline, differ, operations_of, within_reach
from spanlore_extractor.mining.miner import mine_session
from spanlore_extractor.mining.session import MinedSession
from support.told import START_NS, corrected, failing_tests

CITED = Evidence("1" * 32, "2" * 16, "s1", EvidenceRole.FAILURE, 5)
ONE = Memory("m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "a/b/c", "old", evidence=(CITED,), version=3)
HERE = frozenset({"s1"})


def test_added_changed_dropped() -> None:
    """By id, each with what differs; versions, anchors and the time of recording are no difference."""
    same = replace(ONE, id="m-2")
    found = differ(
        [ONE, same, replace(ONE, id="m-3")],
        [replace(ONE, text="new", version=1), replace(same, version=1, created_at_ns=9), replace(ONE, id="m-4")],
        HERE,
    )

    assert [memory.id for memory in found.added] == ["m-4"]
    assert [(item.after.id, item.fields) for item in found.changed] == [("m-1", ("text",))]
    assert [memory.id for memory in found.dropped] == ["m-3"]
    assert found.unchanged == 1


def test_what_people_did_stays() -> None:
    """Forgotten, edited and hand-made memories are where mining starts from; a person's status is no difference."""
    forgotten = replace(ONE, id="m-2", status=Status.FORGOTTEN)
    by_hand = [forgotten, replace(ONE, id="m-3", is_edited=True), replace(ONE, id="m-4", evidence=())]
    confirmed = replace(ONE, note="the user confirmed it")
    found = differ([*by_hand, confirmed], [*by_hand, replace(ONE, status=Status.CANDIDATE)], HERE)

    assert baseline([*by_hand, confirmed]) == by_hand
    assert (found.added, found.changed, found.dropped, found.unchanged) == ((), (), (), 1)


def test_sessions_that_are_gone_say_nothing() -> None:
    """Retention took them; the memory stays."""
    found = differ([ONE], [], frozenset())
    assert (found.dropped, found.out_of_reach) == ((), (ONE,))


def test_made_true() -> None:
    """Additions, updates from the newest version, and retirements that a later miner may take back."""
    found = differ([ONE, replace(ONE, id="m-3")], [replace(ONE, text="new", version=1), replace(ONE, id="m-4")], HERE)
    added, updated, retired = operations_of(found)

    assert (added.verb, added.memory.version) == (Verb.ADDED, 1)
    assert (updated.verb, updated.memory.version, updated.memory.text) == (Verb.UPDATED, 4, "new")
    assert (retired.memory.status, retired.memory.note) == (Status.RETIRED, LOST)
    assert baseline([retired.memory]) == []


def test_what_a_person_merged_is_no_difference() -> None:
    """Neither of the two, also once mining has changed the note of the one that was kept; nor what comes of the other's
    failure afresh, which counts for the one that was kept."""
    scope = "a/b/merged"
    first, second = (failing_tests(f"merged-{n}", START_NS + n * 10**12, repository=scope).session() for n in (1, 2))
    word = corrected("merged-3", "always use bun directly for the tests", START_NS, repository=scope).session()

    def mined(sessions: list[MinedSession], known: list[Memory]) -> list[Memory]:
        for session in sessions:
            result = consolidate(mine_session(session, 600 * 10**9).candidates, known, {}, Redactor(()), 1)
            known = applied(known, result.operations)
        return known

    known = mined([first, word], [])
    [fix] = [memory for memory in known if memory.kind is Kind.USAGE]
    [rule] = [memory for memory in known if memory.kind is Kind.CORRECTION]
    repeats = replace(fix, duplicate_of=rule.id)
    merged = applied(known, merge(repeats, [repeats, rule], 9))
    later = [
        replace(memory, note="seen again") if memory.id == rule.id else memory for memory in mined([second], merged)
    ]
    [kept] = [memory for memory in later if memory.id == rule.id]
    afresh = mined([first, word, second], baseline(later))
    found = differ(later, afresh, frozenset({"merged-1", "merged-2", "merged-3"}))

    assert kept.session_count == 3 and {memory.id for memory in baseline(later)} == {rule.id, fix.id}
    assert (found.added, found.changed, found.dropped) == ((), (), ())


def applied(known: list[Memory], operations: Iterable[Operation]) -> list[Memory]:
    memories = {memory.id: memory for memory in known}
    memories.update({operation.memory.id: operation.memory for operation in operations})
    return list(memories.values())


def test_what_is_partly_past_its_days_is_left_alone() -> None:
    """A memory that cites a span that is gone would be found to be less than it is: nothing is said of it."""
    older = replace(CITED, span_id="3" * 16)
    partly = replace(ONE, id="m-2", evidence=(older, CITED))
    diff = differ([ONE, partly, replace(partly, id="m-3")], [replace(ONE, text="new"), replace(partly, text="n")], HERE)
    found = within_reach(diff, {CITED.span_id})

    assert len(diff.changed) == 2 and [memory.id for memory in diff.dropped] == ["m-3"]
    assert [item.before.id for item in found.changed] == ["m-1"]
    assert (found.dropped, [memory.id for memory in found.out_of_reach]) == ((), ["m-2", "m-3"])
    assert within_reach(diff, {CITED.span_id, older.span_id}) == diff
