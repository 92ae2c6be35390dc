"""Budgets: warned of, never enforced."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from spanlore.settings import Settings
from spanlore.settings.settings import BudgetSettings
from spanlore_proxy.doctor.budget import budget, midnight_ns
from spanlore_proxy.doctor.finding import Severity
from spanlore_proxy.doctor.scene import Scene


@dataclass(frozen=True)
class Spending(Scene):
    """A scene in which so much was spent today."""

    today: float = 0.0
    dearest: float = 0.0
    unpriced: int = 0

    def rows(self, sql: str) -> list[dict[str, Any]]:
        row = {"today": self.today, "dearest": self.dearest, "session": "5e551011-0000", "unpriced": self.unpriced}
        return [row]


def spending(scene: Scene, limits: BudgetSettings, today: float, dearest: float = 0, unpriced: int = 0) -> Scene:
    return Spending(
        paths=scene.paths,
        settings=Settings(budget=limits),
        environ={},
        now_ns=scene.now_ns,
        today=today,
        dearest=dearest,
        unpriced=unpriced,
    )


@pytest.mark.parametrize(("today", "severity"), [(1.0, Severity.OK), (9.0, Severity.NOTE), (10.5, Severity.WARNING)])
def test_the_day(scene: Callable[..., Scene], today: float, severity: Severity) -> None:
    """Well, nearly, over."""
    (finding,) = budget(spending(scene(), BudgetSettings(usd_per_day=10), today, unpriced=3))

    assert (finding.severity, f"${today:.2f} of $10.00" in finding.says) == (severity, True)
    assert "3 calls have no known price" in finding.says


def test_a_session(scene: Callable[..., Scene]) -> None:
    """Named, with how to look at it."""
    (over,) = budget(spending(scene(), BudgetSettings(usd_per_session=2), 3, 2.5))

    assert (over.severity, over.do) == (Severity.WARNING, "spanlore session 5e551011")
    assert list(budget(spending(scene(), BudgetSettings(usd_per_session=2), 3, 1.5))) == []


def test_without_a_budget_nobody_asks(scene: Callable[..., Scene]) -> None:
    """And a store that is away says nothing here."""
    assert list(budget(scene())) == []
    assert list(budget(scene(settings=Settings(budget=BudgetSettings(usd_per_day=1))))) == []


def test_on_a_real_store(running: Scene) -> None:
    """The query runs; nothing was spent yet."""
    from dataclasses import replace

    limits = Settings(budget=BudgetSettings(usd_per_day=1, usd_per_session=1))
    (finding,) = budget(replace(running, settings=limits))

    assert (finding.severity, "$0.00 of $1.00" in finding.says) == (Severity.OK, True)


def test_today_begins_at_midnight_here() -> None:
    """By this machine's clock."""
    at = datetime(2026, 11, 30, 15, 30, tzinfo=UTC)
    began = datetime.fromtimestamp(midnight_ns(int(at.timestamp() * 1e9)) / 1e9, UTC).astimezone()

    assert (began.hour, began.minute, began <= at) == (0, 0, True)
