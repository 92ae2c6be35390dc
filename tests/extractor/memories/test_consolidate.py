from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.memory.memory import USER_SCOPE, Evidence, EvidenceRole, Kind, Memory, Source, Status, Trigger
from spanlore.memory.merging import MAX_EVIDENCE
from spanlore.memory.operations import Operation, Verb, operation_to_json
from spanlore.memory.stated import forget, remember
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.consolidate import Consolidation, authority, consolidate
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.miner import mine_session
from support.payloads import PAYLOADS
from support.told import START_NS, corrected

REDACTOR = Redactor(())
NOW_NS = START_NS + 10**15


def usage(session: str = "s1", value: str = "chek → check", at: int = 0, **changes: Any) -> Candidate:
    cited = Evidence("1" * 32, f"{at:016x}", session, EvidenceRole.FAILURE, START_NS + at, "make chek")
    made = Candidate(
        Kind.USAGE, Source.FAILURE_DELTA, "github.com/a/b", session, "make", "unknown:chek", value, (cited,),
        START_NS + at, "rule", failed="make chek", worked="make check", error_line="no rule",
        trigger=Trigger((f"{at:016x}",), "make", "unknown"),
    )  # fmt: skip
    return replace(made, **changes)


def said(words: str, session: str = "s1", at: int = 0, **changes: Any) -> Candidate:
    quote = words if words in PAYLOADS else f"always {words}"
    cited = Evidence("2" * 32, f"{at:016x}", session, EvidenceRole.STATEMENT, START_NS + at, quote)
    made = Candidate(
        Kind.CORRECTION, Source.CORRECTION, "github.com/a/b", session, "tests", "by", words, (cited,), START_NS + at,
        "rule", quote=quote, is_statement=True,
    )  # fmt: skip
    return replace(made, **changes)


def run(candidates: Sequence[Candidate], known: Sequence[Memory] = (), **more: Any) -> Consolidation:
    return consolidate(candidates, known, more.get("recurrences", {}), REDACTOR, NOW_NS)


def applied(known: Sequence[Memory], operations: Sequence[Operation]) -> list[Memory]:
    """What the collector would hold afterwards; each operation must be made from the newest version."""
    memories = {memory.id: memory for memory in known}
    for operation in operations:
        before = memories.get(operation.memory.id)
        assert operation.memory.version == (before.version + 1 if before else 1)
        memories[operation.memory.id] = operation.memory
    return list(memories.values())


def verbs(result: Consolidation) -> list[tuple[Verb, Status]]:
    return [(operation.verb, operation.memory.status) for operation in result.operations]


def test_one_session_waits_two_are_active() -> None:
    """The second session reinforces, promotes, and adds its evidence and signature."""
    first = run([usage("s1")])
    known = applied((), first.operations)
    second = run([usage("s2", at=5)], known)

    assert verbs(first) == [(Verb.ADDED, Status.CANDIDATE)]
    assert verbs(second) == [(Verb.REINFORCED, Status.ACTIVE)]
    memory = second.operations[0].memory
    assert (memory.session_count, len(memory.evidence), memory.alpha) == (2, 2, 4.0)
    assert memory.trigger.signatures == (f"{0:016x}", f"{5:016x}")
    assert memory.updated_at_ns == START_NS + 5


def test_the_same_session_counts_once() -> None:
    """A session that grew and is mined again is no new evidence."""
    known = applied((), run([usage("s1")]).operations)
    again = run([usage("s1", at=9)], known)

    assert not again.operations
    assert [item.reason for item in again.refused] == ["known already, from the same session"]


def test_a_statement_is_active_at_once() -> None:
    """The user's own standing rule needs no second session; a passing one does."""
    assert verbs(run([said("make check")])) == [(Verb.ADDED, Status.ACTIVE)]
    assert verbs(run([said("make check", is_statement=False)])) == [(Verb.ADDED, Status.CANDIDATE)]


def test_opposites_cancel_in_one_batch() -> None:
    """A → B and B → A: neither is a fix."""
    other = usage("s2", "check → chek", at=5)
    result = run([usage("s1"), other])

    assert not result.operations
    assert {item.reason for item in result.refused} == {"the opposite was a fix as well"}


def test_an_opposite_retires_what_is_known() -> None:
    """And does not come back with the next session."""
    known = applied((), run([usage("s1"), usage("s2", at=1)]).operations)
    result = run([usage("s3", "check → chek", at=5)], known)

    assert verbs(result) == [(Verb.RETIRED, Status.RETIRED)]
    known = applied(known, result.operations)
    assert not run([usage("s4", at=6), usage("s5", "check → chek", at=7)], known).operations


def test_the_users_newer_rule_supersedes_the_older() -> None:
    """Only of the same subject and slot; the old one stays, marked."""
    known = applied((), run([said("make check")]).operations)
    result = run([said("make test", "s2", at=5)], known)

    assert verbs(result) == [(Verb.ADDED, Status.ACTIVE), (Verb.SUPERSEDED, Status.SUPERSEDED)]
    assert result.operations[1].memory.superseded_by == result.operations[0].memory.id


def test_lower_never_retires_higher() -> None:
    """What was inferred only opens a conflict with what a user said."""
    known = applied((), run([said("make check", kind=Kind.EXPLICIT, source=Source.EXPLICIT)]).operations)
    delta = usage("s2", "x → y", at=5, subject="tests", slot="by")
    result = run([delta, replace(usage("s3", "x → y", at=6), subject="tests", slot="by")], known)

    assert [status for _, status in verbs(result)] == [Status.CANDIDATE, Status.CANDIDATE]
    assert all(operation.memory.kind is Kind.USAGE for operation in result.operations)


def test_higher_supersedes_lower() -> None:
    """Explicit over correction over inferred."""
    known = applied((), run([usage(f"s{n}", at=n, subject="tests", slot="by") for n in (1, 2)]).operations)
    result = run([said("make check", "s3", at=5)], known)

    assert verbs(result) == [(Verb.ADDED, Status.ACTIVE), (Verb.SUPERSEDED, Status.SUPERSEDED)]
    assert [authority(source) for source in (Source.EXPLICIT, Source.CORRECTION, Source.FAILURE_DELTA)] == [3, 2, 1]


def test_pins_are_immune() -> None:
    """Nothing supersedes or retires a pinned memory."""
    [memory] = applied((), run([said("make check")]).operations)
    pinned = replace(memory, pinned=True)
    result = run([said("make test", "s2", at=5)], [pinned])

    assert verbs(result) == [(Verb.ADDED, Status.CANDIDATE)]
    assert result.operations[0].memory.note.startswith(f"conflicts with {pinned.id}")


def test_what_was_forgotten_stays_forgotten() -> None:
    """However often it is seen; the same for what was retired or superseded."""
    [memory] = applied((), run([usage("s1")]).operations)
    for status in (Status.FORGOTTEN, Status.RETIRED, Status.SUPERSEDED):
        assert not run([usage("s2", at=1), usage("s3", at=2)], [replace(memory, status=status)]).operations


def test_payloads_are_never_shown() -> None:
    """Not from two sessions, not as a statement, not when seen again."""
    for payload in PAYLOADS:
        candidates = [usage(f"s{n}", at=n, worked=payload, error_line=payload) for n in (1, 2, 3)]
        candidates += [said(payload, f"t{n}", at=10 + n) for n in (1, 2)]
        first = run(candidates)
        known = applied((), first.operations)
        again = run([replace(item, session_id=f"again{n}", evidence=()) for n, item in enumerate(candidates)], known)

        assert not [memory for memory in applied(known, again.operations) if memory.is_shown], payload


def test_traps_need_the_failure_in_another_session() -> None:
    """A code fix is dropped unless the same failure came back; then it cites both."""
    trap = usage("s2", "KeyError: 'A_B'", kind=Kind.TRAP, at=5)
    elsewhere = Evidence("3" * 32, "4" * 16, "s1", EvidenceRole.FAILURE, START_NS - 5, "pytest")
    own = replace(elsewhere, session_id="s2")

    here, there = (trap.scope, trap.trigger.signatures[0]), ("another/repository", trap.trigger.signatures[0])
    assert not run([trap], recurrences={here: [own], there: [elsewhere]}).operations
    result = run([trap], recurrences={here: [elsewhere, own]})
    assert verbs(result) == [(Verb.ADDED, Status.ACTIVE)]
    assert {item.session_id for item in result.operations[0].memory.evidence} == {"s1", "s2"}


def test_evidence_is_bounded() -> None:
    """The first and the newest stay; the count goes on."""
    known: list[Memory] = []
    for n in range(MAX_EVIDENCE + 10):
        known = applied(known, run([usage(f"s{n}", at=n)], known).operations)

    assert len(known[0].evidence) == MAX_EVIDENCE
    assert known[0].session_count == MAX_EVIDENCE + 10
    assert known[0].evidence[0].session_id == "s0"


ANY = st.lists(
    st.builds(
        lambda made, session, at, value: made(session, value, at),
        st.sampled_from([lambda s, v, a: usage(s, v, a), lambda s, v, a: said(v, s, a)]),
        st.sampled_from(["s1", "s2", "s3"]),
        st.integers(0, 50),
        st.sampled_from(["chek → check", "check → chek", "a → b", "make check", "make test"]),
    ),
    max_size=12,
)


@settings(deadline=None)
@given(ANY)
def test_mining_again_changes_nothing(candidates: list[Candidate]) -> None:
    """Idempotent: the same candidates over what they made give no operation."""
    known = applied((), run(candidates).operations)

    assert not run(candidates, known).operations


@settings(deadline=None)
@given(ANY, st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_matter(candidates: list[Candidate], random: Any) -> None:
    """Byte for byte the same operations."""
    shuffled = list(candidates)
    random.shuffle(shuffled)

    def dumped(result: Consolidation) -> bytes:
        return orjson.dumps([operation_to_json(operation) for operation in result.operations])

    assert dumped(run(candidates)) == dumped(run(shuffled))


def test_a_preference_of_two_repositories_is_the_users() -> None:
    """Stated in both and nothing of a repository's own; it says where it comes from, and is made once."""
    both = [said("use uv", f"s{number}", number, scope=f"h/a/{number}") for number in (1, 2)]
    known = applied((), run(both).operations)
    [shared] = [memory for memory in known if memory.scope == USER_SCOPE]

    assert (shared.status, shared.origins, shared.session_count) == (Status.ACTIVE, ("h/a/1", "h/a/2"), 2)
    assert not run(both, known).operations
    told = [replace(item, quote="keep src/a.py short") for item in both]
    cited = [replace(item, evidence=(replace(item.evidence[0], quote=item.quote),)) for item in told]
    assert not [item for item in run(cited).operations if item.memory.scope == USER_SCOPE]


def test_what_was_superseded_holds_again_when_it_is_said_again() -> None:
    """Later than what superseded it, and by a word that counts as much; the other is superseded then."""
    first, second = said("use uv", "s1", 1), said("use pip", "s2", 2)
    known = applied((), run([first, second]).operations)
    again = run([said("use uv", "s3", 3)], known)
    after = {memory.value: memory for memory in applied(known, again.operations)}

    assert (after["use uv"].status, after["use pip"].status) == (Status.ACTIVE, Status.SUPERSEDED)
    assert after["use uv"].valid_to_ns == 0 < after["use pip"].valid_to_ns
    assert not run([said("use uv", "s0", 1)], known).operations, "said before it was superseded"


def test_no_session_counts_twice() -> None:
    """Not even one whose evidence is no longer cited."""
    many = [usage(f"s{number}", at=number) for number in range(MAX_EVIDENCE + 12)]
    known = applied((), run(many).operations)

    assert known[0].session_count == len(many)
    assert len(known[0].seen) == 12
    assert not run(many, known).operations


def test_a_command_holds_where_it_was_learned() -> None:
    """Seen below two directories it holds for what is above both; a person's rule holds for all of it."""
    [one] = applied((), run([usage("s1", sub_path="web/app")]).operations)
    [both] = applied([one], run([usage("s2", at=1, sub_path="web/api")], [one]).operations)
    [rule] = applied((), run([said("use uv", sub_path="web/app")]).operations)

    assert (one.sub_path, both.sub_path, rule.sub_path) == ("web/app", "web", "")
    assert one.holds_in("web/app/src") and one.holds_in("") and not one.holds_in("web/application")


def test_a_persons_words_take_the_place_of_what_they_refuse() -> None:
    """A fix by a command that the person told the agent not to use is superseded, and the words answer its failure."""
    known = applied((), run([usage("s1", worked="make check"), usage("s2", at=5, worked="make check")]).operations)
    words = said("run the tests with tox. Don't use make here.", "s3", at=9)
    result = run([words], known)

    after = {memory.kind: memory for memory in applied(known, result.operations)}
    assert after[Kind.USAGE].status is Status.SUPERSEDED
    assert after[Kind.USAGE].superseded_by == after[Kind.CORRECTION].id
    assert set(after[Kind.USAGE].trigger.signatures) <= set(after[Kind.CORRECTION].trigger.signatures)
    assert not run([words], list(after.values())).operations
    assert not run([usage("s4", at=20, worked="make check")], list(after.values())).operations


def test_what_a_person_keeps_is_not_disowned() -> None:
    """A pinned, edited or confirmed lesson is a person's word too."""
    known = applied((), run([usage("s1"), usage("s2", at=5)]).operations)
    words = said("run the tests with tox. Don't use make here.", "s3", at=9)
    for kept in ({"pinned": True}, {"is_edited": True}, {"note": "the user confirmed it"}):
        result = run([words], [replace(memory, **kept) for memory in known])
        assert Verb.SUPERSEDED not in [operation.verb for operation in result.operations]


def test_what_was_forgotten_comes_back_as_nothing_else() -> None:
    """Not as another kind of the user's statement, nor bound to an agent; what says otherwise is learned."""
    [said] = remember("run the tests with tox", "github.com/example/tally", (), START_NS)
    gone = forget(said.memory).memory
    again = mine_session(corrected("f1", "No. Always run the tests with tox.").session(), 600 * 10**9).candidates
    other = mine_session(corrected("f2", "No. Always run the tests with nox.").session(), 600 * 10**9).candidates
    refused = consolidate(again, [gone], {}, Redactor(()), 1)
    learned = consolidate(other, [gone], {}, Redactor(()), 1)

    assert again and again[0].value == gone.value and again[0].id != gone.id
    assert refused.operations == () and refused.refused[0].reason == "the user had it forgotten"
    assert [operation.memory.value for operation in learned.operations] == ["nox"]
