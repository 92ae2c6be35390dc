"""Memory: identity, JSON, and who may be shown."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.memory import (
    Evidence,
    EvidenceRole,
    Kind,
    Memory,
    Source,
    Status,
    Trigger,
    memory_from_json,
    memory_id,
    memory_to_json,
)

TEXT = st.text(max_size=20)
EVIDENCE = st.builds(
    Evidence,
    trace_id=TEXT,
    span_id=TEXT,
    session_id=TEXT,
    role=st.sampled_from(EvidenceRole),
    time_ns=st.integers(0, 2**62),
    quote=TEXT,
)
MEMORIES = st.builds(
    Memory,
    id=TEXT,
    kind=st.sampled_from(Kind),
    source=st.sampled_from(Source),
    status=st.sampled_from(Status),
    scope=TEXT,
    text=TEXT,
    subject=TEXT,
    slot=TEXT,
    value=TEXT,
    why=TEXT,
    harness=TEXT,
    branch=TEXT,
    trigger=st.builds(Trigger, signatures=st.lists(TEXT, max_size=2).map(tuple), program=TEXT, error_class=TEXT),
    evidence=st.lists(EVIDENCE, max_size=2).map(tuple),
    session_count=st.integers(0, 9),
    alpha=st.floats(0.5, 9),
    beta=st.floats(0.5, 9),
    pinned=st.booleans(),
    created_at_ns=st.integers(0, 2**62),
    updated_at_ns=st.integers(0, 2**62),
    superseded_by=TEXT,
    note=TEXT,
    version=st.integers(1, 9),
)


@given(MEMORIES)
def test_json_is_an_exact_inverse(memory: Memory) -> None:
    """A memory comes back from JSON text as it went in."""
    text = json.dumps(memory_to_json(memory))

    assert memory_from_json(json.loads(text)) == memory


def test_unknown_keys_are_left_out() -> None:
    """A newer version's field does not make a memory unreadable."""
    data = memory_to_json(_memory()) | {"colour": "green"}

    assert memory_from_json(data) == _memory()


@pytest.mark.parametrize(
    "change",
    [{"kind": "no such kind"}, {"status": None}, {"trigger": 5}, {"evidence": [{"role": "fix"}]}, {"evidence": 3}],
)
def test_what_is_no_memory_is_refused(change: dict[str, object]) -> None:
    """A wrong enumeration or shape is a ValueError, whatever went wrong inside."""
    with pytest.raises(ValueError):
        memory_from_json(memory_to_json(_memory()) | change)


def test_missing_fields_are_refused() -> None:
    """A memory without its required fields is a ValueError."""
    with pytest.raises(ValueError, match="not a memory"):
        memory_from_json({"kind": "usage", "source": "explicit", "status": "active"})


def test_id_depends_on_every_word_and_its_place() -> None:
    """The same words in other places are another memory, and words don't run together."""
    ids = {
        memory_id("a", Kind.USAGE, "b", "c", "d"),
        memory_id("a", Kind.USAGE, "bc", "", "d"),
        memory_id("a", Kind.USAGE, "b", "cd", ""),
        memory_id("a", Kind.LOCATION, "b", "c", "d"),
        memory_id("a", Kind.USAGE, "b", "c", "d", "codex"),
        memory_id("b", Kind.USAGE, "a", "c", "d"),
    }

    assert len(ids) == 6
    assert all(id_.startswith("m-") and len(id_) == 14 for id_ in ids)


def test_only_trial_and_active_are_shown() -> None:
    """An agent never sees a candidate, or what was superseded, retired, quarantined or forgotten."""
    shown = {status for status in Status if _memory(status).is_shown}

    assert shown == {Status.TRIAL, Status.ACTIVE}


def test_what_is_shown_is_live() -> None:
    """New evidence may change whatever an agent sees, and candidates."""
    assert {status for status in Status if status.is_live and not status.is_shown} == {Status.CANDIDATE}
    assert all(status.is_live for status in Status if status.is_shown)


def test_a_persons_words_recommend_no_form() -> None:
    """A rule is told as it was said; only what was mined from a fix ends with the form that worked."""
    assert [kind for kind in Kind if kind.is_stated and kind.recommends] == []


def test_confidence_is_the_mean_of_the_counts() -> None:
    """Three for and one against is 0.75."""
    memory = Memory("m-0", Kind.USAGE, Source.EXPLICIT, Status.ACTIVE, "s", "t", alpha=3, beta=1)

    assert memory.confidence == 0.75


def _memory(status: Status = Status.ACTIVE) -> Memory:
    return Memory("m-0", Kind.USAGE, Source.EXPLICIT, status, "s", "t", trigger=Trigger(("ab",)))
