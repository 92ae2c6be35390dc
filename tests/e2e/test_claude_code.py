"""The main job with the real Claude Code, a fresh HOME, a key that is none, and a scripted upstream on loopback."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from spanlore_proxy.demo.drivers import ClaudeCode, find_claude
from support.main_job import each_rule
from support.played import Played, play

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    binary = find_claude(Path(__file__).parents[2])
    if binary is None:
        pytest.skip("no claude binary: install it with npm below .cache/agents, as `make test` does")
    with play(ClaudeCode(binary)) as played:
        yield played


@each_rule
def test_main_job(played: Played, rule: Callable[[Played], None]) -> None:
    """The rule that the parameter names and its docstring states."""
    rule(played)


def test_nothing_is_kept_in_its_home(played: Played) -> None:
    """Claude Code's own transcripts hold nothing of what was added to its requests."""
    kept = [path for path in played.stage.home.rglob("*.jsonl") if path.is_file()]

    assert kept
    assert not any(b"<spanlore-" in path.read_bytes() for path in kept)


def test_only_the_model_server_was_talked_to(played: Played) -> None:
    """Every connection of the run was to the API's host, and so to the scripted server."""
    hosts = {request.header("host") for request in played.server.requests}

    assert hosts
    assert played.server.inferences
