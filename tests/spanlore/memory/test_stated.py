from dataclasses import replace

import pytest

from spanlore.memory.memory import Kind, Source, Status
from spanlore.memory.operations import Verb
from spanlore.memory.stated import MAX_STATEMENT_CHARS, day_of, edit, forget, pin, remember
from spanlore_extractor.memories.wording import MAX_TEXT_CHARS
from support.payloads import PAYLOADS
from support.told import START_NS

SCOPE = "github.com/a/b"


def test_remembered_at_once() -> None:
    """The user's word needs no evidence."""
    [operation] = remember("run the tests with make check", SCOPE, [], START_NS)

    memory = operation.memory
    assert (operation.verb, operation.actor) == (Verb.ADDED, "user")
    assert (memory.status, memory.kind, memory.source, memory.scope) == (
        Status.ACTIVE,
        Kind.EXPLICIT,
        Source.EXPLICIT,
        SCOPE,
    )
    assert memory.text == 'The user asked to have this remembered (2026-11-30): "run the tests with make check"'


def test_an_agents_word_waits() -> None:
    """As a candidate, told as an agent's, once; it supersedes nothing, and the user's same word makes it active."""
    [users] = remember("run the tests with tox", SCOPE, [], START_NS)
    [operation] = remember("run the tests with make", SCOPE, [users.memory], START_NS, by="agent")
    known = [users.memory, operation.memory]
    said, ended = remember("run the tests with make", SCOPE, known, START_NS + 1)

    assert (operation.actor, operation.memory.status) == ("agent", Status.CANDIDATE)
    assert operation.memory.text.startswith("An agent asked")
    assert remember("Run the tests with make.", SCOPE, known, START_NS + 1, by="agent") == []
    assert (said.memory.id, said.memory.status) == (operation.memory.id, Status.ACTIVE)
    assert said.memory.text.startswith("The user asked")
    assert ended.memory.id == users.memory.id


def test_what_was_ended_no_agent_brings_back() -> None:
    """Forgotten or superseded: only its user may."""
    [made] = remember("we use tabs", SCOPE, [], START_NS)

    with pytest.raises(ValueError, match="only the user"):
        remember("we use tabs", SCOPE, [forget(made.memory).memory], START_NS + 1, by="agent")


def test_twice_is_once() -> None:
    """What is remembered already is not added again."""
    [operation] = remember("we use tabs", SCOPE, [], START_NS)

    assert remember("We use tabs.", SCOPE, [operation.memory], START_NS + 1) == []


def test_the_newer_word_wins() -> None:
    """Of the same subject and slot; pins stay."""
    [old] = remember("run the tests with make check", SCOPE, [], START_NS)
    added, ended = remember("run the tests with tox", SCOPE, [old.memory], START_NS + 1)

    assert (ended.verb, ended.memory.id, ended.memory.superseded_by) == (
        Verb.SUPERSEDED,
        old.memory.id,
        added.memory.id,
    )
    assert len(remember("run the tests with tox", SCOPE, [replace(old.memory, pinned=True)], START_NS)) == 1


def test_forgotten_comes_back_only_by_the_user() -> None:
    """Saying it again takes the forgetting back."""
    [made] = remember("we use tabs", SCOPE, [], START_NS)
    gone = forget(made.memory)
    [back] = remember("we use tabs", SCOPE, [gone.memory], START_NS + 1)

    assert (gone.verb, gone.memory.status, gone.memory.version) == (Verb.FORGOTTEN, Status.FORGOTTEN, 2)
    assert (back.verb, back.memory.status, back.memory.version) == (Verb.UPDATED, Status.ACTIVE, 3)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_wait_for_review(payload: str) -> None:
    """An agent can run `spanlore remember` as well."""
    [operation] = remember(payload, SCOPE, [], START_NS)

    assert operation.memory.status is Status.QUARANTINED


@pytest.mark.parametrize("text", ["", "  \n ", "x" * (MAX_STATEMENT_CHARS + 1)])
def test_nothing_and_too_much(text: str) -> None:
    """Told at once, with what to do."""
    with pytest.raises(ValueError):
        remember(text, SCOPE, [], START_NS)


def test_the_longest_fits() -> None:
    """Words that are accepted are shown whole."""
    [operation] = remember("x" * MAX_STATEMENT_CHARS, SCOPE, [], START_NS)

    assert len(operation.memory.text) <= MAX_TEXT_CHARS
    assert "…" not in operation.memory.text


def test_days_are_utc() -> None:
    """Whatever this machine's clock shows."""
    assert day_of(0) == "1970-01-01"


def test_for_a_while() -> None:
    """Until then, said in its text; it ends nothing else. Said again it gets another end, or none."""
    end_ns = START_NS + 7 * 86_400 * 10**9
    [lasting] = remember("run the tests with make check", SCOPE, [], START_NS)
    [made] = remember("run the tests with make quick", SCOPE, [lasting.memory], START_NS, until_ns=end_ns)
    [longer] = remember("run the tests with make quick", SCOPE, [made.memory], START_NS, until_ns=end_ns + 1)
    for_good = remember("run the tests with make quick", SCOPE, [lasting.memory, made.memory], START_NS)

    assert made.memory.text.startswith("The user asked to have this remembered until 2026-12-07 (2026-11-30)")
    assert [made.memory.is_over(at_ns) for at_ns in (end_ns - 1, end_ns)] == [False, True]
    assert (longer.memory.valid_to_ns, longer.memory.version) == (end_ns + 1, 2)
    assert [item.memory.valid_to_ns for item in for_good[:1]] == [0]
    assert [item.memory.status for item in for_good] == [Status.ACTIVE, Status.SUPERSEDED]
    assert remember("run the tests with make check", SCOPE, [lasting.memory], START_NS, until_ns=end_ns) == []
    with pytest.raises(ValueError, match="say it in 323"):
        remember("x" * 330, SCOPE, [], START_NS, until_ns=end_ns)


def test_remembered_again_after_it_was_edited() -> None:
    """What it says is not those words any more: they are kept now, and the pin with them."""
    [made] = remember("always use tabs", SCOPE, [], START_NS)
    [edited] = edit(made.memory, "Spaces are used here.", [made.memory], START_NS + 1)
    pinned = pin(edited.memory, True)
    assert pinned is not None
    [again] = remember("always use tabs", SCOPE, [pinned.memory], START_NS + 2)
    [worded] = edit(made.memory, "Here one must always use tabs.", [made.memory], START_NS + 1)

    assert (again.memory.id, again.memory.version, again.memory.pinned) == (made.memory.id, 4, True)
    assert again.memory.text.endswith('"always use tabs"') and not again.memory.is_edited
    assert remember("always use tabs", SCOPE, [worded.memory], START_NS + 2) == []
