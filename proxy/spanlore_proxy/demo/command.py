"""`spanlore demo`: the whole of spanlore at work in one minute, with no key and no network beyond loopback."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from spanlore.ending import USAGE, WRONG
from spanlore.terminal import tell

if TYPE_CHECKING:
    from spanlore_proxy.demo.drivers import Driver


class Agent(StrEnum):
    """Who plays the agent."""

    SCRIPTED = "scripted"
    CLAUDE = "claude"


def register(app: typer.Typer) -> None:
    """Adds `demo` to `app`."""
    app.command(
        "demo", help="Show spanlore at work, without a key: two runs of one task, on a model server of its own."
    )(demo)


def demo(
    agent: Agent = typer.Option(Agent.SCRIPTED, help="scripted, or the real Claude Code with a key that is none."),
    keep: Path | None = typer.Option(None, help="A new directory to work in and to leave behind."),
    as_json: bool = typer.Option(False, "--json", help="JSON, one object, and nothing else."),
) -> None:
    """Run 1 fails and is corrected, mining, run 2 starts with what was learned. Exit code 1 if any of it fails."""
    from rich.console import Console

    from spanlore_proxy.demo import report
    from spanlore_proxy.demo.findings import gather
    from spanlore_proxy.demo.model_server import ModelServer
    from spanlore_proxy.demo.scenario import answer
    from spanlore_proxy.demo.stage import Stage, StageError
    from spanlore_proxy.demo.story import Story

    driver = _driver(agent)
    console = Console(highlight=False, quiet=as_json)
    try:
        with ModelServer(answer) as server, Stage(server.url, keep=keep) as stage:
            story = Story(stage, server, driver, lambda line: console.print(line, markup=False))
            store = story.play()
            findings = gather(story.cast, store, server, stage.paths)
            report.show(findings, stage, console)
            if as_json:
                _print_json(report.to_json(findings, stage))
    except StageError as error:
        tell(f"spanlore demo: {error}")
        raise typer.Exit(WRONG) from None
    if not findings.is_good:
        raise typer.Exit(WRONG)


def _driver(agent: Agent) -> Driver:
    from spanlore_proxy.demo.drivers import ClaudeCode, ScriptedAgent, find_claude
    from spanlore_proxy.demo.stage import missing_programs

    if missing := missing_programs():
        tell(f"spanlore demo needs {', '.join(missing)} on PATH")
        raise typer.Exit(USAGE)
    if agent is Agent.SCRIPTED:
        return ScriptedAgent()
    binary = find_claude(Path(__file__).parents[3])
    if binary is None:
        tell("spanlore demo: no `claude` on PATH; install Claude Code, or leave --agent out")
        raise typer.Exit(USAGE)
    return ClaudeCode(binary)


def _print_json(value: object) -> None:
    import orjson

    typer.echo(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2).decode())
