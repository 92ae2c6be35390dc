from dataclasses import replace
from typing import Any

import pytest

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Source, Status, Trigger
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.gate import COSTLY_NS, examine, is_costly, promote
from spanlore_extractor.mining.candidate import Candidate
from support.payloads import PAYLOADS
from support.told import START_NS

REDACTOR = Redactor(())


def evidence(quote: str, role: EvidenceRole = EvidenceRole.FAILURE, session: str = "s1") -> Evidence:
    return Evidence("0" * 31 + "1", "0" * 15 + "1", session, role, START_NS, quote)


def delta(**changes: Any) -> Candidate:
    made = Candidate(
        Kind.USAGE, Source.FAILURE_DELTA, "github.com/a/b", "s1", "make", "unknown:chek", "chek → check",
        (evidence("make chek"),), START_NS, "rule", failed="make chek", worked="make check", error_line="no rule",
    )  # fmt: skip
    return replace(made, **changes)


def said(words: str, **changes: Any) -> Candidate:
    made = Candidate(
        Kind.CORRECTION, Source.CORRECTION, "github.com/a/b", "s1", "x", "statement", words,
        (evidence(words, EvidenceRole.STATEMENT),), START_NS, "rule", quote=words, is_statement=True,
    )  # fmt: skip
    return replace(made, **changes)


def test_an_ordinary_candidate_is_kept() -> None:
    """It waits as a candidate until evidence carries it further."""
    assert examine(delta(), REDACTOR).status is Status.CANDIDATE
    assert examine(said("never stash the tree"), REDACTOR).status is Status.CANDIDATE


@pytest.mark.parametrize("payload", PAYLOADS)
@pytest.mark.parametrize("place", ["failed", "worked", "error_line", "value", "subject", "quote"])
def test_no_payload_is_ever_shown(payload: str, place: str) -> None:
    """Wherever it stands, a payload is quarantined or refused, for whatever evidence."""
    made = said(payload) if place == "quote" else delta(**{place: payload})

    assert examine(made, REDACTOR).status in (Status.QUARANTINED, None)


@pytest.mark.parametrize("place", ["failed", "worked", "value"])
def test_addresses_from_tools_wait_for_review(place: str) -> None:
    """A person may name an address, a command that was mined may not."""
    made = delta(**{place: "git clone https://example.com/x.git"})

    assert examine(made, REDACTOR).status is Status.QUARANTINED
    assert examine(said("the docs are at https://example.com/x"), REDACTOR).status is Status.CANDIDATE
    assert examine(said("always download https://example.com/x first"), REDACTOR).status is Status.QUARANTINED


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (delta(scope=""), "the project is not known"),
        (delta(value=" "), "it says nothing that can be shown"),
        (delta(evidence=()), "it says nothing that can be shown"),
        (delta(worked="deploy --key AKIAIOSFODNN7EXAMPLE"), "a secret stood in it"),
        (delta(worked="deploy --key [redacted:aws_access_key]"), "a secret stood in it"),
        (said("I'm sorry, I cannot help with that"), "a refusal, not a fact"),
        (
            said("never stash", evidence=(evidence("something else", EvidenceRole.STATEMENT),)),
            "it says more than its evidence shows",
        ),
    ],
)
def test_never(made: Candidate, reason: str) -> None:
    """Unknown project, nothing, secrets, refusals, and what its own evidence does not show."""
    assert examine(made, REDACTOR).status is None
    assert examine(made, REDACTOR).reason == reason


def test_long_words_are_grounded_by_their_beginning() -> None:
    """Evidence quotes at most 240 characters, a memory shows somewhat more."""
    words = "never touch the default ssh config because " + "x" * 250

    assert (
        examine(said(words, evidence=(evidence(words[:240], EvidenceRole.STATEMENT),)), REDACTOR).status
        is Status.CANDIDATE
    )


def test_evidence_promotes() -> None:
    """Two sessions, or the user's standing statement; anything else waits."""
    assert promote(delta(), 1).status is Status.CANDIDATE
    assert promote(delta(), 2).status is Status.ACTIVE
    assert promote(said("never stash"), 1).status is Status.ACTIVE
    assert promote(said("never stash", is_statement=False), 1).status is Status.CANDIDATE


def test_one_costly_loss_is_tried() -> None:
    """Three failed attempts over ten calls, or three minutes; never a statement, never a trap."""
    costly = {"count": 3, "lost_calls": 10}

    assert promote(delta(**costly), 1).status is Status.TRIAL
    assert promote(delta(lost_ns=COSTLY_NS), 1).status is Status.TRIAL
    assert promote(delta(kind=Kind.TRAP, **costly), 1).status is Status.CANDIDATE
    assert promote(said("no", is_statement=False, **costly), 1).status is Status.CANDIDATE
    assert not is_costly(delta(count=3, lost_calls=9))


@pytest.mark.parametrize("error_class", ["edit_no_match", "edit_not_unique", "file_not_read", "file_changed"])
def test_a_refusal_that_says_what_to_do_needs_no_memory(error_class: str) -> None:
    """\"Read it first\" is told by the tool each time; a memory of it would only cost tokens."""
    made = delta(kind=Kind.HARNESS, harness="claude-code", trigger=Trigger((), "Edit", error_class))

    assert examine(made, REDACTOR).status is None
    assert examine(replace(made, trigger=Trigger((), "Edit", "unknown_skill")), REDACTOR).status is Status.CANDIDATE


def test_a_place_is_pinned_by_three_sessions() -> None:
    """Two look-ups of one thing may be chance; nothing else makes up for a third."""
    made = delta(
        kind=Kind.LOCATION, source=Source.REPEATED_LOOKUP, slot="lookup", subject="NewClient", value="src/client.py",
        failed="NewClient", worked="src/client.py", lost_ns=10 * COSTLY_NS,
    )  # fmt: skip

    assert [promote(made, sessions).status for sessions in (1, 2, 3)] == [
        Status.CANDIDATE, Status.CANDIDATE, Status.ACTIVE,
    ]  # fmt: skip
    assert examine(made, REDACTOR).status is Status.CANDIDATE
