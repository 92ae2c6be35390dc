"""All checks in their order. One that fails to look is a finding itself; it never hides the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from spanlore_proxy.doctor import agents, budget, house, live_key, records
from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene

type Check = Callable[[Scene], Iterator[Finding]]

CHECKS: Final[tuple[Check, ...]] = (
    house.permissions,
    house.daemon,
    house.ports,
    house.ca,
    agents.trust,
    agents.own_files,
    agents.shell,
    records.store,
    records.spool,
    records.completeness,
    house.clock,
    house.disk,
    records.activity,
    records.injection,
    records.attested,
    records.prefix_alarm,
    budget.budget,
)


def examine(scene: Scene, *, live: bool = False) -> list[Finding]:
    """What every check found; with `live` the keys are tried at their providers too."""
    checks = (*CHECKS, live_key.keys) if live else CHECKS
    return [finding for check in checks for finding in _found(check, scene)]


def _found(check: Check, scene: Scene) -> Iterator[Finding]:
    try:
        yield from check(scene)
    except Exception as error:
        # A state nobody thought of is exactly when the doctor is called.
        name = check.__name__.replace("_", " ")
        yield Finding(
            name, Severity.ERROR, f"could not be checked: {type(error).__name__}: {error}", "please report it"
        )
