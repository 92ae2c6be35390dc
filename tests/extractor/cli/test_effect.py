"""`spanlore effect` and `spanlore cost` against a real store."""

import json
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from spanlore.memory.memory import Memory, Status
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.cli.app import commands
from support.collecting import Collecting
from support.effects import session_spans
from support.injecting import failure_trigger, make_memory


def spanlore(collector: Collecting, *arguments: str) -> Result:
    app = typer.Typer()
    commands(app)
    return CliRunner().invoke(app, arguments, env=collector.environment)


def data(collector: Collecting, *arguments: str) -> Any:
    result = spanlore(collector, *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def helping(collector: Collecting) -> Memory:
    """A memory on trial that was measured to help."""
    memory = make_memory("cli", scope="example.org/cli", trigger=failure_trigger(), status=Status.TRIAL)
    collector.client.apply([Operation(Verb.ADDED, memory)])
    spans = []
    for number in range(40):
        state = "shown" if number % 2 else "withheld"
        commands_run = [memory.value] if state == "shown" else []
        spans += session_spans(f"cli-{number}", memory, state, fails=state == "withheld", commands=commands_run)
    spans += session_spans("cli-denied", memory, "skipped", reason="contradicted")
    collector.send(spans)
    return memory


def test_the_effect_of_one_memory(collector: Collecting, helping: Memory) -> None:
    """Shares with their numbers, the difference with its interval, use, tokens, and what the rules would do."""
    document = data(collector, "effect", helping.id[:9])
    [found] = document["memories"]

    assert (found["recurred_shown"], found["recurred_withheld"]) == ({"hits": 0, "of": 20}, {"hits": 20, "of": 20})
    assert (found["used_shown"], found["used_withheld"]) == ({"hits": 20, "of": 20}, {"hits": 0, "of": 20})
    assert found["verdict"] == "helps"
    assert found["difference"] == -1.0
    assert found["interval"][0] <= -1.0 < found["interval"][1] < 0
    assert found["exposed_tokens"] == 20 * 25
    assert [row["opportunities"] for row in document["contradicted"]] == [1]
    assert helping.id in [row["memory_id"] for row in data(collector, "review", "--all")["contradicted"]]
    assert document["due"] == [{"id": helping.id, "status": "active", "reason": document["due"][0]["reason"]}]


@pytest.mark.parametrize("arguments", [(), ("m-",), ("cost",), ("cost", "--by", "session")])
def test_what_people_read_fits_80_columns(collector: Collecting, helping: Memory, arguments: tuple[str, ...]) -> None:
    """Without colour, and every view says something."""
    command = arguments if arguments[:1] == ("cost",) else ("effect", *arguments)
    lines = spanlore(collector, *command, *(("--days", "3650") if command[0] == "cost" else ())).stdout.splitlines()

    assert lines
    assert max(map(len, lines)) <= 80


def test_too_few_is_told_as_too_few(collector: Collecting) -> None:
    """No number, no interval."""
    memory = make_memory("few", scope="example.org/few", trigger=failure_trigger())
    collector.client.apply([Operation(Verb.ADDED, memory)])
    collector.send(session_spans("few-1", memory))
    [found] = data(collector, "effect", memory.id)["memories"]

    assert (found["verdict"], found["difference"], found["interval"]) == ("too few", None, None)


def test_rules_are_applied_when_asked(collector: Collecting) -> None:
    """`--apply` promotes what helps."""
    memory = make_memory("now", scope="example.org/now", trigger=failure_trigger(), status=Status.TRIAL)
    collector.client.apply([Operation(Verb.ADDED, memory)])
    for number in range(40):
        state = "shown" if number % 2 else "withheld"
        collector.send(session_spans(f"now-{number}", memory, state, fails=state == "withheld"))
    data(collector, "effect", memory.id, "--apply")

    assert (found := collector.client.memory(memory.id)) is not None
    assert (found.status, found.measured_effect) == (Status.ACTIVE, -1.0)


@pytest.mark.parametrize(("arguments", "code"), [(("effect", "m-none"), 1), (("cost", "--by", "moon"), 2)])
def test_what_is_not_there_is_told(collector: Collecting, arguments: tuple[str, ...], code: int) -> None:
    """An unknown memory, an unknown split."""
    result = spanlore(collector, *arguments)

    assert result.exit_code == code
    assert "spanlore:" in result.stderr
