"""The main job with the small scripted agent: captured, mined, injected, seen."""

from collections.abc import Callable, Iterator

import pytest

from spanlore_proxy.demo.drivers import ScriptedAgent
from support.main_job import each_rule
from support.played import Played, play


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with play(ScriptedAgent()) as played:
        yield played


@each_rule
def test_main_job(played: Played, rule: Callable[[Played], None]) -> None:
    """The rule that the parameter names and its docstring states."""
    rule(played)


def test_checks_can_fail() -> None:
    """With injection switched off run 2 fails as run 1 did, and the demonstration's checks say so."""
    with play(ScriptedAgent(), SPANLORE_INJECTION_ENABLED="false") as played:
        untrue = [check.claim for check in played.findings.checks if not check.is_true]

    assert len(untrue) == 3
    assert "run 2 did not fail once" in untrue
