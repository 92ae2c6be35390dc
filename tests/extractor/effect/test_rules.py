"""What a measured effect does to a memory."""

import random
from dataclasses import replace
from typing import Any

import pytest

from spanlore.memory.memory import Source, Status
from spanlore.memory.operations import Verb
from spanlore.recall.rank import standing
from spanlore_extractor.effect.estimate import Effect, Share, Unit, estimates
from spanlore_extractor.effect.rules import ACTOR, MANY_SESSIONS, MANY_WITHHELD, apply_rules
from support.injecting import make_memory

HELPS = Effect(Share(1, 50), Share(40, 50), Share(40, 50), Share(2, 50))
HARMS = Effect(Share(40, 50), Share(1, 50), Share(0, 50), Share(0, 50))
OPEN = Effect(Share(10, 50), Share(11, 50), Share(5, 50), Share(0, 50))
BAD = Effect(Share(24, 60), Share(4, 20), Share(5, 60), Share(0, 20))
USELESS = Effect(Share(60, MANY_SESSIONS), Share(12, MANY_WITHHELD), Share(0, MANY_SESSIONS), Share(0, MANY_WITHHELD))
FEW = Effect(Share(9, 9), Share(0, 9), Share(0, 9), Share(0, 9))


@pytest.mark.parametrize(
    ("status", "effect", "after"),
    [
        (Status.TRIAL, HELPS, Status.ACTIVE),
        (Status.ACTIVE, HELPS, Status.ACTIVE),
        (Status.TRIAL, HARMS, Status.RETIRED),
        (Status.ACTIVE, HARMS, Status.RETIRED),
        (Status.ACTIVE, USELESS, Status.RETIRED),
        (Status.ACTIVE, BAD, Status.TRIAL),
        (Status.TRIAL, BAD, None),
        (Status.ACTIVE, OPEN, None),
        (Status.ACTIVE, FEW, None),
        (Status.RETIRED, HELPS, None),
        (Status.FORGOTTEN, HELPS, None),
    ],
)
def test_rules(status: Status, effect: Effect, after: Status | None) -> None:
    """Promoted, retired, put back on trial, or left alone; too few sessions change nothing."""
    memory = make_memory(status=status)
    operations = apply_rules([memory], {memory.id: effect})

    assert [operation.memory.status for operation in operations] == ([after] if after else [])
    for operation in operations:
        assert operation.memory.version == memory.version + 1
        assert operation.actor == ACTOR
        assert operation.verb is (Verb.RETIRED if after is Status.RETIRED else Verb.UPDATED)
        assert "sessions" in operation.reason


@pytest.mark.parametrize("changes", [{"pinned": True}, {"source": Source.EXPLICIT}, {"is_edited": True}])
def test_what_is_the_users_keeps_its_status(changes: dict[str, Any]) -> None:
    """Its effect is told and kept, and no rule retires it."""
    memory = make_memory(**changes)
    [operation] = apply_rules([memory], {memory.id: HARMS})

    assert operation.memory.status is memory.status
    assert operation.memory.measured_effect > 0


def test_a_kept_effect_is_not_told_again() -> None:
    """The same measurement changes nothing a second time."""
    memory = make_memory()
    [operation] = apply_rules([memory], {memory.id: HELPS})

    assert operation.memory.measured_effect == -0.8
    assert apply_rules([operation.memory], {memory.id: HELPS}) == []


def test_recall_sees_it() -> None:
    """Of two memories of equal authority, the one that was measured to help comes first, whatever the confidence."""
    plain = make_memory("a", alpha=90.0)
    helping = replace(make_memory("b"), measured_effect=-0.2)

    assert sorted([plain, helping], key=standing) == [helping, plain]


def test_planted_harmful_memories_are_retired_and_planted_good_ones_are_not() -> None:
    """Of 20 harmful and 20 helping ones, after 200 sessions on trial each: at least 19 retired, none of the good."""
    chance = random.Random(1)
    bad = [make_memory(f"bad{n}", status=Status.TRIAL) for n in range(20)]
    good = [make_memory(f"good{n}", status=Status.TRIAL) for n in range(20)]
    units = []
    for memory in (*bad, *good):
        p_shown, p_withheld = (0.6, 0.25) if memory in bad else (0.15, 0.5)
        for number in range(200):
            is_shown = chance.random() < 0.5
            has_recurred = chance.random() < (p_shown if is_shown else p_withheld)
            units.append(Unit(memory.id, f"s{number}", is_shown, has_recurred, is_shown))
    retired = {
        operation.memory.id
        for operation in apply_rules([*bad, *good], estimates(units))
        if operation.memory.status is Status.RETIRED
    }

    assert len(retired & {memory.id for memory in bad}) >= 19
    assert not retired & {memory.id for memory in good}
