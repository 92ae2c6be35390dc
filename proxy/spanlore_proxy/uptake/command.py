"""`spanlore eval uptake`: whether a real model names what a memory says, by placement and wording."""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from spanlore.ending import USAGE, fail
from spanlore.main import group
from spanlore_proxy.uptake.small_model import FOLDER, MODEL_FILE

if TYPE_CHECKING:
    from spanlore_proxy.injection.wording import Wording
    from spanlore_proxy.uptake.arms import Arm, Moment


def register(app: typer.Typer) -> None:
    """Adds `eval uptake`."""
    group(app, "eval", "Measure what is understood and learned, on recordings.").command("uptake")(uptake)


def uptake(
    lessons: int = typer.Option(200, min=2, help="Made-up lessons; each is asked 7 times a wording."),
    wording: list[str] = typer.Option(
        ["standard"], "--wording", help="Which words stand around the memory; `all`, or several times."
    ),
    arm: list[str] = typer.Option([], "--arm", help="Only these arms, none included; all without this option."),
    moment: list[str] = typer.Option([], "--moment", help="Only at this: task or failure; both without."),
    url: str = typer.Option("", help="A server that speaks OpenAI Chat Completions; else `make small-model`'s."),
    model: str = typer.Option("", help="Its model's name; the small model's file when there is no --url."),
    max_tokens: int = typer.Option(48, min=4, help="Of each answer, at most."),
    seed: int = typer.Option(1, help="Of the lessons."),
    results: Path | None = typer.Option(None, help="Keep the answers in this file, a line of JSON each."),
    resume: bool = typer.Option(False, "--resume", help="Go on with the answers in --results."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
) -> None:
    """Ask a real model through the proxy: with no memory, one in the prompt, beside a failure, a placebo."""
    import asyncio

    from spanlore_proxy.uptake.asking import Book, Question, UptakeError, ask_all
    from spanlore_proxy.uptake.lessons import make_lessons
    from spanlore_proxy.uptake.report import report, table
    from spanlore_proxy.uptake.small_model import NoModelError, running

    chosen, arms, moments = choose(wording), choose_arms(arm), choose_moments(moment)
    name = model or MODEL_FILE
    about = {"eval": "uptake", "model": name, "seed": seed, "max_tokens": max_tokens}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spanlore-uptake-")))
        try:
            book = Book(results or folder / "answers.jsonl", {**about, "lessons": lessons}, is_resumed=resume)
            where = url.rstrip("/") or stack.enter_context(running(FOLDER, name))
            asyncio.run(
                ask_all(
                    folder,
                    make_lessons(lessons, seed),
                    chosen,
                    Question(where.removesuffix("/v1"), name, max_tokens),
                    book,
                    lambda line: typer.echo(line, err=True),
                    arms,
                    moments,
                )
            )
        except (UptakeError, NoModelError, OSError) as error:
            fail(str(error))
        result = report(book.answers.values(), list(chosen), name)
    typer.echo(table(result))
    sys.stdout.flush()
    if as_json:
        typer.echo(json.dumps(result))


def choose(names: list[str]) -> dict[str, Wording]:
    """The wordings of those names, in the order given; exit code 2 for one that is not there."""
    from spanlore_proxy.uptake.wordings import WORDINGS

    wanted = list(WORDINGS) if "all" in names else names
    _check("wording", wanted, list(WORDINGS))
    return {name: WORDINGS[name] for name in wanted}


def choose_arms(names: list[str]) -> list[Arm]:
    """The arms of those names in the order they are played, all for no names; exit code 2 for one that is not there."""
    from spanlore_proxy.uptake.arms import ARMS

    _check("arm", names, [arm.name for arm in ARMS])
    return [arm for arm in ARMS if not names or arm.name in names]


def choose_moments(names: list[str]) -> list[Moment]:
    """The moments of those names, all for no names; exit code 2 for one that is not there."""
    from spanlore_proxy.uptake.arms import Moment

    _check("moment", names, [moment.value for moment in Moment])
    return [moment for moment in Moment if not names or moment.value in names]


def _check(what: str, names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            fail(f"there is no {what} {name}; there are {', '.join(known)}", USAGE)
