"""Ranking: who stands first, and who may be shown."""

import pytest

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.recall.rank import Match, Tier, is_eligible, is_for_block, order_matches, standing, suits
from support.injecting import failure_trigger, make_memory


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_memory("b", pinned=True, source=Source.MERGED), make_memory("a", source=Source.EXPLICIT)),
        (make_memory("b"), make_memory("a", status=Status.TRIAL, source=Source.EXPLICIT)),
        (make_memory("b", source=Source.EXPLICIT), make_memory("a", source=Source.CORRECTION, alpha=99.0)),
        (make_memory("b", source=Source.CORRECTION), make_memory("a", alpha=99.0)),
        (make_memory("b", alpha=9.0), make_memory("a", alpha=2.0)),
        (make_memory("b", updated_at_ns=2), make_memory("a", updated_at_ns=1)),
    ],
)
def test_order_of_standing(first: Memory, second: Memory) -> None:
    """Pin, then status, then authority, then confidence, then recency; each stands above all that follow."""
    assert sorted([second, first], key=standing) == [first, second]


def test_equal_standing_is_settled_by_id() -> None:
    """The order never depends on the order of arrival."""
    twins = [make_memory("a"), make_memory("b")]

    assert sorted(twins, key=standing) == sorted([twins[1], twins[0]], key=standing)


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (make_memory(), True),
        (make_memory(status=Status.TRIAL), True),
        (make_memory(status=Status.QUARANTINED, pinned=True), False),
        (make_memory(alpha=1.0, beta=2.0), False),
        (make_memory(alpha=1.0, beta=2.0, pinned=True), True),
    ],
)
def test_who_is_eligible(memory: Memory, expected: bool) -> None:
    """Shown is what is on trial or active and at least half believed; a pin stands in for belief, not for status."""
    assert is_eligible(memory) is expected


def test_what_is_bound_to_a_harness_stays_with_it() -> None:
    """A fact without a harness suits all, one with a harness only that one."""
    assert suits(make_memory(), "codex")
    assert suits(make_memory(harness="codex"), "codex")
    assert not suits(make_memory(harness="codex"), "claude-code")


def test_exact_matches_come_first_and_each_memory_once() -> None:
    """A memory found in both tiers counts in the better one."""
    strong, weak = make_memory("a", alpha=99.0), make_memory("b")
    matches = [Match(strong, Tier.PROGRAM_AND_CLASS), Match(weak, Tier.PROGRAM_AND_CLASS), Match(weak, Tier.SIGNATURE)]

    assert order_matches(matches) == (Match(weak, Tier.SIGNATURE), Match(strong, Tier.PROGRAM_AND_CLASS))


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (make_memory(trigger=failure_trigger()), True),
        (make_memory(kind=Kind.HARNESS, trigger=failure_trigger()), False),
        (make_memory(kind=Kind.HARNESS, trigger=failure_trigger(), pinned=True), True),
        (make_memory(kind=Kind.HARNESS), True),
    ],
)
def test_what_a_tool_refused_is_told_beside_its_refusal(memory: Memory, expected: bool) -> None:
    """And not ahead, unless the user pinned it or it has no failure to stand beside."""
    assert is_for_block(memory) is expected
