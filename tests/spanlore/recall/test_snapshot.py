"""Snapshot: what is found in it, and what is read from the collector."""

import pytest

from spanlore.memory.memory import USER_SCOPE, Evidence, EvidenceRole, Source, Status, Trigger, memory_to_json
from spanlore.recall.rank import Match, Tier
from spanlore.recall.snapshot import Snapshot, snapshot_from_json
from support.injecting import SCOPE, make_memory

TRIGGER = Trigger(("00000000000000aa",), "pytest", "ImportError")


def test_scope_holds_the_repository_and_the_user_and_nothing_else() -> None:
    """Another repository's memories never show."""
    here, mine = make_memory("a"), make_memory("b", scope=USER_SCOPE, source=Source.EXPLICIT)
    elsewhere = make_memory("c", scope="github.com/acme/other")
    snapshot = Snapshot.of([here, mine, elsewhere])

    assert list(snapshot.in_scope(SCOPE, "claude-code")) == [mine, here]
    assert list(snapshot.in_scope("github.com/acme/third", "claude-code")) == [mine]


def test_only_what_is_eligible_gets_in() -> None:
    """What is retired or hardly believed is not in a snapshot at all."""
    kept = make_memory("a", status=Status.TRIAL)
    snapshot = Snapshot.of([kept, make_memory("b", status=Status.RETIRED), make_memory("c", beta=90.0)])

    assert snapshot.memories == (kept,)


def test_exact_signature_stands_before_program_and_class() -> None:
    """Both tiers are found, in the repository and the user's scope; the exact one first."""
    exact = make_memory("a", trigger=TRIGGER, alpha=2.0)
    near = make_memory("b", trigger=Trigger(("00000000000000bb",), "pytest", "ImportError"), alpha=9.0)
    mine = make_memory("c", trigger=TRIGGER, alpha=1.5, scope=USER_SCOPE)
    snapshot = Snapshot.of([near, mine, exact])
    found = snapshot.answering(SCOPE, "claude-code", "00000000000000aa", "pytest", "ImportError")

    assert found == (Match(exact, Tier.SIGNATURE), Match(mine, Tier.SIGNATURE), Match(near, Tier.PROGRAM_AND_CLASS))


def test_empty_words_match_nothing() -> None:
    """A failure without program or class does not find memories without them."""
    snapshot = Snapshot.of([make_memory("a", trigger=Trigger()), make_memory("b", trigger=Trigger(("",), "", ""))])

    assert snapshot.answering(SCOPE, "claude-code", "", "", "") == ()


def test_it_knows_which_programs_failures_could_be_answered() -> None:
    """Those of the triggers in the repository and the user's scope; a signature without a program stands for any."""
    bare = Trigger(("00000000000000cc",))
    snapshot = Snapshot.of(
        [
            make_memory("a", trigger=TRIGGER),
            make_memory("b", scope="path:/x"),
            make_memory("c", scope=USER_SCOPE, trigger=Trigger((), "git", "usage")),
            make_memory("d", scope="path:/y", trigger=bare),
        ]
    )

    assert snapshot.failing_programs(SCOPE) == {"pytest", "git"}
    assert snapshot.failing_programs("path:/x") == {"git"}
    assert snapshot.failing_programs("path:/y") == {"git", ""}
    assert Snapshot().failing_programs(SCOPE) == frozenset()


def test_other_harnesses_memories_are_passed_over() -> None:
    """Neither the list nor a match holds what is bound to another harness."""
    snapshot = Snapshot.of([make_memory("a", harness="codex", trigger=TRIGGER)])

    assert list(snapshot.in_scope(SCOPE, "claude-code")) == []
    assert snapshot.answering(SCOPE, "claude-code", TRIGGER.signatures[0], "pytest", "ImportError") == ()


@pytest.mark.parametrize("wrap", [lambda entries: {"memories": entries}, lambda entries: entries])
def test_the_collectors_answer_is_read_without_evidence(wrap: object) -> None:
    """Evidence is dropped; the rest comes as it was sent, in either shape."""
    evidence = Evidence("t", "s", "x", EvidenceRole.FIX, 1, "quote")
    sent = make_memory("a", evidence=(evidence,))
    snapshot = snapshot_from_json(wrap([memory_to_json(sent)]), '"etag"')  # type: ignore[operator]

    assert snapshot.memories == (make_memory("a"),)
    assert snapshot.etag == '"etag"'


def test_an_unreadable_entry_does_not_cost_the_rest() -> None:
    """A newer kind, a wrong type or rubbish is left out and counted."""
    good = memory_to_json(make_memory("a"))
    bad = [{**good, "kind": "newer"}, {**good, "alpha": "x"}, {**good, "alpha": 0, "beta": 0}, 7, None]
    snapshot = snapshot_from_json({"memories": [*bad, good]})

    assert snapshot.memories == (make_memory("a"),)
    assert snapshot.left_out == 5


@pytest.mark.parametrize("data", [None, {}, {"memories": 3}, "x"])
def test_what_is_no_snapshot_is_refused(data: object) -> None:
    """No list of memories is a ValueError."""
    with pytest.raises(ValueError, match="not a snapshot"):
        snapshot_from_json(data)


def test_known_versions_are_not_read_again() -> None:
    """Of the same id and version the value at hand is kept; a new version is read."""
    old = Snapshot.of([make_memory("a"), make_memory("b")])
    changed = make_memory("b", version=2, text="other")
    new = snapshot_from_json([memory_to_json(make_memory("a")), memory_to_json(changed)], before=old)

    assert any(memory is old.memories[i] for memory in new.memories for i in range(2))
    assert changed in new.memories


def test_what_is_over_goes() -> None:
    """Pinned or not; where nothing is over, it is the very same snapshot."""
    lasting, ends = make_memory("a"), make_memory("b", valid_to_ns=20, pinned=True)
    snapshot = Snapshot.of([lasting, ends], etag="1")

    assert snapshot.ends_ns == 20
    assert snapshot.holding_at(19) is snapshot
    assert snapshot.holding_at(20).memories == (lasting,)
    assert (snapshot.holding_at(20).etag, snapshot.holding_at(20).ends_ns) == ("1", 0)
    assert Snapshot.of([lasting]).holding_at(10**30).memories == (lasting,)
