from dataclasses import replace
from typing import Any

import pytest

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status, Trigger
from spanlore.memory.merging import merge, text_for_both, twin_of
from spanlore.memory.operations import Verb
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.mining.candidate import Candidate


def cited(session: str, role: EvidenceRole = EvidenceRole.FIX, at: int = 1) -> Evidence:
    return Evidence("1" * 32, session.rjust(16, "0"), session, role, at, "make check")


def made(memory_id: str, signature: str, *evidence: Evidence, **changes: Any) -> Memory:
    values: dict[str, Any] = {
        "id": memory_id, "kind": Kind.USAGE, "source": Source.FAILURE_DELTA, "status": Status.ACTIVE, "scope": "a/b/c",
        "text": f"text of {memory_id}", "trigger": Trigger((signature,), "pytest", "x"), "evidence": evidence,
        "session_count": len(evidence), "alpha": 3.0 + len(evidence), "beta": 2.0, "valid_from_ns": 5,
    }  # fmt: skip
    return Memory(**{**values, **changes})


SHOWN = made("m-1", "aa", cited("s1"), cited("s2"))
WORD = made(
    "m-2", "bb", cited("s2"), cited("s3", EvidenceRole.STATEMENT), cited("s4", EvidenceRole.AGAINST),
    kind=Kind.CORRECTION, source=Source.CORRECTION, status=Status.CANDIDATE, duplicate_of="m-1", valid_from_ns=3,
)  # fmt: skip


def test_the_word_that_counts_more_is_kept() -> None:
    """With the evidence, the triggers and the counts of both, each session once; the other is superseded by it."""
    kept, ended = merge(WORD, [SHOWN, WORD], 9)

    assert (kept.verb, kept.memory.id, kept.memory.text) == (Verb.UPDATED, "m-2", "text of m-2")
    assert (kept.memory.status, kept.memory.version, kept.memory.duplicate_of) == (Status.ACTIVE, 2, "")
    assert {item.session_id for item in kept.memory.evidence} == {"s1", "s2", "s3", "s4"}
    assert kept.memory.trigger.signatures == ("bb", "aa")
    assert (kept.memory.alpha, kept.memory.beta) == (WORD.alpha + 1, WORD.beta)
    assert kept.memory.valid_from_ns == 3
    assert (ended.verb, ended.memory.status, ended.memory.superseded_by) == (Verb.SUPERSEDED, Status.SUPERSEDED, "m-2")
    assert (ended.memory.valid_to_ns, ended.actor) == (9, "user")


def test_the_same_sort_keeps_what_is_shown() -> None:
    """What speaks against the other counts too."""
    waiting = replace(WORD, kind=Kind.USAGE, source=Source.FAILURE_DELTA)
    kept, ended = merge(waiting, [SHOWN, waiting], 9)

    assert (kept.memory.id, ended.memory.id) == ("m-1", "m-2")
    assert (kept.memory.session_count, kept.memory.alpha, kept.memory.beta) == (3, SHOWN.alpha + 1, SHOWN.beta + 1)


@pytest.mark.parametrize(
    "twin",
    [
        {"status": Status.FORGOTTEN}, {"status": Status.QUARANTINED}, {"scope": "d/e/f"}, {"harness": "codex"},
        {"id": "m-9"}, {"valid_to_ns": 10**18},
    ],
)  # fmt: skip
def test_what_can_not_be_merged(twin: dict[str, Any]) -> None:
    """Told; nothing happens."""
    known = [replace(SHOWN, **twin), WORD]
    assert twin_of(WORD, known) is None
    with pytest.raises(ValueError, match="can't be merged"):
        merge(WORD, known, 9)
    with pytest.raises(ValueError, match="no judge"):
        merge(SHOWN, known, 9)


def test_what_is_mined_later_counts_for_the_one_that_was_kept() -> None:
    """The other does not come back; and where what was kept is forgotten, neither does."""
    again = Candidate(
        Kind.USAGE, Source.FAILURE_DELTA, "a/b/c", "s5", "pytest", "invocation", "make check",
        (cited("s5", at=99),), 99, "usage", failed="pytest", worked="make check", error_line="error: x",
    )  # fmt: skip
    other = replace(SHOWN, id=again.id)
    word = replace(WORD, duplicate_of=other.id)
    kept, ended = (operation.memory for operation in merge(word, [other, word], 9))
    result = consolidate([again], [kept, ended], {}, Redactor(()), 100)
    forgotten = consolidate([again], [replace(kept, status=Status.FORGOTTEN), ended], {}, Redactor(()), 100)

    assert [(item.verb, item.memory.id) for item in result.operations] == [(Verb.REINFORCED, kept.id)]
    assert result.operations[0].memory.session_count == kept.session_count + 1
    assert forgotten.operations == ()


def test_what_was_merged_twice_counts_for_the_last() -> None:
    """A into B, B into C: what speaks for A speaks for C. A circle, which nobody can make by hand, has an end."""
    again = Candidate(
        Kind.USAGE, Source.FAILURE_DELTA, "a/b/c", "s5", "pytest", "invocation", "make check",
        (cited("s5", at=99),), 99, "usage", failed="pytest", worked="make check", error_line="error: x",
    )  # fmt: skip
    first = replace(SHOWN, id=again.id, status=Status.SUPERSEDED, superseded_by="m-b", duplicate_of="m-b")
    second = replace(SHOWN, id="m-b", status=Status.SUPERSEDED, superseded_by="m-c", duplicate_of="m-c")
    last = replace(SHOWN, id="m-c")
    result = consolidate([again], [first, second, last], {}, Redactor(()), 100)
    circle = replace(second, superseded_by=first.id, duplicate_of=first.id)

    assert [(item.verb, item.memory.id) for item in result.operations] == [(Verb.REINFORCED, "m-c")]
    assert len(consolidate([again], [first, circle], {}, Redactor(()), 100).operations) <= 1


def test_a_text_that_says_both() -> None:
    """The judge's, where it names nothing that neither names; else both by rule, where they fit and one adds words."""
    one = replace(SHOWN, text="Run the tests with `make check`.")
    other = replace(WORD, text="The tests need `docker` to be up.")
    asked = replace(other, merged_text="The tests run with `make check` and need `docker` to be up.")
    invented = replace(other, merged_text="Run `curl-installer` and then `make check`; `docker` is up.")
    by_rule = "The tests need `docker` to be up. Also: Run the tests with `make check`."

    assert text_for_both(asked, one) == asked.merged_text
    assert text_for_both(invented, one) == text_for_both(other, one) == by_rule
    assert text_for_both(replace(other, text=one.text), one) == ""
    assert text_for_both(replace(other, text="x " * 190), one) == ""


def test_a_text_that_says_both_is_the_persons_word() -> None:
    """Taken only where it is asked for; mining does not rewrite it."""
    asked = replace(WORD, merged_text="text of m-1 and m-2")
    kept, ended = merge(asked, [SHOWN, asked], 9, both_texts=True)
    plain, _ = merge(asked, [SHOWN, asked], 9)

    assert (kept.memory.text, kept.memory.is_edited, kept.memory.merged_text) == ("text of m-1 and m-2", True, "")
    assert (plain.memory.text, plain.memory.is_edited, plain.memory.merged_text) == ("text of m-2", False, "")
    assert ended.memory.merged_text == ""
