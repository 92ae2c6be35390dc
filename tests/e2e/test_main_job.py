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
