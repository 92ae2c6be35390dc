from dataclasses import replace

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Verb
from spanlore.memory.trust import DAY_NS
from spanlore_extractor.memories.life import Caps, expected_value, grow_old

USAGE = Memory(
    "m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "a/b/c", "text", alpha=4, beta=2, session_count=2,
    lost_calls=3,
)  # fmt: skip


def test_old_evidence_stops_being_shown() -> None:
    """It waits among the candidates for another session; a pin, and what the user asked for, stay."""
    asked = replace(USAGE, id="m-2", kind=Kind.EXPLICIT, source=Source.EXPLICIT, alpha=9, beta=1)
    pinned = replace(USAGE, id="m-3", pinned=True)
    [faded] = grow_old([USAGE, asked, pinned], 150 * DAY_NS, Caps())

    assert (faded.verb, faded.memory.id, faded.memory.status) == (Verb.DEMOTED, "m-1", Status.CANDIDATE)
    assert faded.memory.version == 2
    assert "150 days" in faded.reason
    assert grow_old([USAGE, asked, pinned], 30 * DAY_NS, Caps()) == []


def test_those_worth_least_go() -> None:
    """Beyond the cap of a scope: a saving counts by how often and how much, a person's word above any saving."""
    dear = [replace(USAGE, id=f"m-{number}", lost_calls=10 + number) for number in range(3)]
    said = replace(USAGE, id="m-8", kind=Kind.CORRECTION, source=Source.CORRECTION, lost_calls=0)
    pinned = replace(USAGE, id="m-9", pinned=True, lost_calls=0)
    elsewhere = replace(USAGE, id="m-7", scope="d/e/f", lost_calls=0)
    gone = grow_old([*dear, said, pinned, elsewhere], DAY_NS, Caps(active=3))

    assert [(item.memory.id, item.memory.status) for item in gone] == [
        ("m-0", Status.CANDIDATE), ("m-1", Status.CANDIDATE),
    ]  # fmt: skip


def test_candidates_beyond_the_cap_retire() -> None:
    """Nothing is deleted; it says why."""
    waiting = [replace(USAGE, id=f"m-{number}", status=Status.CANDIDATE, lost_calls=number + 1) for number in range(4)]
    [gone] = grow_old(waiting, DAY_NS, Caps(candidates=3))

    assert (gone.verb, gone.memory.id, gone.memory.status) == (Verb.RETIRED, "m-0", Status.RETIRED)
    assert "worth less" in gone.memory.note


def test_value_is_in_tokens_a_month() -> None:
    """Twice as often is worth about twice as much, belief scales it, and a long text costs."""
    once, often = replace(USAGE, session_count=1), replace(USAGE, session_count=2)
    assert 1.9 < expected_value(often, DAY_NS) / expected_value(once, DAY_NS) < 2.2
    assert expected_value(replace(USAGE, text="x" * 400), 0) < expected_value(USAGE, 0)


def test_what_is_over_retires() -> None:
    """Pinned as well; what has an end to come stays."""
    over = replace(USAGE, id="m-1", pinned=True, valid_to_ns=DAY_NS)
    later = replace(USAGE, id="m-2", valid_to_ns=DAY_NS + 1)
    [gone] = grow_old([over, later], DAY_NS, Caps())

    assert (gone.verb, gone.memory.id, gone.memory.status) == (Verb.RETIRED, "m-1", Status.RETIRED)
    assert (gone.memory.pinned, gone.memory.version) == (False, over.version + 1)
