"""Planted effects: does the estimator find them, and do the rules do what they are for?

A simulated memory lives through sessions; in each it is shown or withheld by chance, with the share its status has, and
what it speaks of comes back with a planted probability. Every `LOOK_EVERY` sessions the real estimator and the real
rules look at it, as mining does. Nothing is stored, nothing is asked; the same seed gives the same numbers.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, Final

from spanlore.memory.memory import Kind, Memory, Source, Status, memory_id
from spanlore_extractor.effect.estimate import Effect, Unit, estimate
from spanlore_extractor.effect.rules import apply_rules

SIMULATIONS: Final = 100
LOOK_EVERY: Final = 10
WITHHELD: Final = {Status.ACTIVE: 0.1, Status.TRIAL: 0.5}
"""Shares, as `injection.withhold_share` and trials have them by default."""
MIN_COVERED: Final = 95
MIN_RETIRED: Final = 95
MAX_WRONG: Final = 5
"""Of a hundred memories that help, or do nothing, so many may be taken for harmful: looked at every ten sessions, for
hundreds of sessions, at 99 %."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is planted."""

    what: str
    sessions: int
    p_shown: float
    """That it comes back in a session that shows the memory."""
    p_withheld: float
    status: Status = Status.ACTIVE
    p_used: float = 0.6
    """That what the memory names is used where it is shown; half as often where it is not."""

    @property
    def planted(self) -> float:
        """The effect: below 0 it helps."""
        return self.p_shown - self.p_withheld


SCENARIOS: Final = (
    Scenario("helps much, on trial", 120, 0.1, 0.6, Status.TRIAL),
    Scenario("helps much, active", 400, 0.1, 0.6),
    Scenario("helps a little, active", 400, 0.25, 0.35),
    Scenario("does nothing, is used", 400, 0.3, 0.3),
    Scenario("does nothing, is not used", 800, 0.3, 0.3, p_used=0.0),
    Scenario("rare failure, helps", 400, 0.02, 0.06),
    Scenario("harms, on trial", 120, 0.7, 0.3, Status.TRIAL),
    Scenario("harms much, active", 400, 0.8, 0.2),
    Scenario("harms, active", 400, 0.6, 0.3),
)


@dataclass(slots=True)
class Life:
    """One simulated memory."""

    memory: Memory
    units: list[Unit] = field(default_factory=list)
    ended_after: int = 0
    """Sessions until it was retired; 0 when it never was."""
    why: str = ""

    @property
    def effect(self) -> Effect:
        """As far as it has lived."""
        return estimate(self.units)


def live(scenario: Scenario, seed: int) -> Life:
    """A memory's life under the rules, to its end or through all sessions."""
    chance = random.Random(f"{scenario.what}:{seed}")
    life = Life(_memory(scenario.status))
    for number in range(1, scenario.sessions + 1):
        life.units.append(_session(scenario, life.memory, number, chance))
        if number % LOOK_EVERY == 0:
            for operation in apply_rules([life.memory], {life.memory.id: life.effect}):
                life.memory = operation.memory
            if life.memory.status is Status.RETIRED:
                life.ended_after, life.why = number, life.memory.note
                break
    return life


def is_covered(scenario: Scenario, seed: int) -> bool:
    """Whether the interval after all sessions, with a fixed share withheld, holds the planted effect."""
    chance = random.Random(f"{scenario.what}:fixed:{seed}")
    memory = _memory(scenario.status)
    units = [_session(scenario, memory, number, chance) for number in range(scenario.sessions)]
    low, high = estimate(units).interval
    return low <= scenario.planted <= high


def simulate(scenario: Scenario, simulations: int = SIMULATIONS) -> dict[str, Any]:
    """A row: how often the interval held the planted effect, and what the rules did."""
    lives = [live(scenario, seed) for seed in range(simulations)]
    ends = [life.ended_after for life in lives if life.ended_after]
    harmful = sum("does harm" in life.why for life in lives)
    return {
        "what": scenario.what,
        "planted effect": round(scenario.planted, 2),
        "sessions count": scenario.sessions,
        "simulations count": simulations,
        "interval holds it count": sum(is_covered(scenario, seed) for seed in range(simulations)),
        "retired as harmful count": harmful,
        "retired as useless count": len(ends) - harmful,
        "promoted or active at the end count": sum(life.memory.status is Status.ACTIVE for life in lives),
        "retired after sessions median": median(ends) if ends else None,
    }


def evaluate(scenarios: Iterable[Scenario] = SCENARIOS, simulations: int = SIMULATIONS) -> dict[str, Any]:
    """All rows, what must hold, and whether it did."""
    rows = [simulate(scenario, simulations) for scenario in scenarios]
    share = simulations / 100
    kept = [row["interval holds it count"] >= MIN_COVERED * share for row in rows]
    kept += [row["retired as harmful count"] >= MIN_RETIRED * share for row in rows if row["planted effect"] > 0]
    kept += [row["retired as harmful count"] <= MAX_WRONG * share for row in rows if row["planted effect"] <= 0]
    budgets = {
        "interval holds the planted effect, of 100, at least": MIN_COVERED,
        "harmful ones retired, of 100, at least": MIN_RETIRED,
        "others retired as harmful, of 100, at most": MAX_WRONG,
    }
    return {"bench": "eval effect", "rows": rows, "budgets": budgets, "within_budget": all(kept)}


def table(result: dict[str, Any]) -> str:
    """The rows for people."""
    lines = [f"{'what is planted':26}{'effect':>7}{'sessions':>9}{'held':>6}{'harmful':>9}{'useless':>9}{'after':>7}"]
    for row in result["rows"]:
        after = row["retired after sessions median"]
        lines.append(
            f"{row['what']:26}{row['planted effect']:>+7.2f}{row['sessions count']:>9}"
            f"{row['interval holds it count']:>6}{row['retired as harmful count']:>9}"
            f"{row['retired as useless count']:>9}{'–' if after is None else round(after):>7}"
        )
    lines += [
        f"of {result['rows'][0]['simulations count']} simulations each. held: the interval holds the planted effect;",
        "harmful, useless: retired as such by rule; after: sessions until then, median",
        "as it must be" if result["within_budget"] else "NOT as it must be",
    ]
    return "\n".join(lines)


def _session(scenario: Scenario, memory: Memory, number: int, chance: random.Random) -> Unit:
    is_shown = chance.random() >= WITHHELD[memory.status]
    has_recurred = chance.random() < (scenario.p_shown if is_shown else scenario.p_withheld)
    is_used = chance.random() < scenario.p_used * (1.0 if is_shown else 0.5)
    return Unit(memory.id, f"s{number}", is_shown, has_recurred, is_used)


def _memory(status: Status) -> Memory:
    identity = memory_id("simulated", Kind.USAGE, "make", "form", "make test")
    made = Memory(identity, Kind.USAGE, Source.FAILURE_DELTA, status, "simulated", "`make` fails; `make test` works.")
    return replace(made, session_count=2)
