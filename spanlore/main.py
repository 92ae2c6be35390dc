"""The `spanlore` command: finds every component's commands through entry points and loads them when called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Any, Final

import typer
from typer.core import TyperGroup

import spanlore
from spanlore.terminal import tell

GROUP = "spanlore.commands"
SECTIONS: Final = (
    ("Agents", "run env import demo"),
    ("What they did", "sessions session summary search watch cost explain"),
    ("What was learned", "memories why effect recall review remember edit pin unpin confirm forget undo mine judge"),
    ("Elsewhere", "mcp notes dashboards store"),
    ("This installation", "status doctor up down install uninstall"),
    ("Measuring", "bench eval"),
)
"""How `spanlore --help` orders the commands; one that stands nowhere is listed at the end."""


class _Commands(TyperGroup):
    """A group that tells what each of its commands is for in whole words: Click cuts at the end of the line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Name and first sentence of each, wrapped."""
        self._write(ctx, formatter, "Commands", self.list_commands(ctx))

    def _write(self, ctx: Any, formatter: Any, title: str, names: Sequence[str]) -> None:
        known = [(name, self.get_command(ctx, name)) for name in names]
        rows = [(name, one.get_short_help_str(1000)) for name, one in known if one is not None and not one.hidden]
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


class _All(_Commands):
    """The whole command line: too many commands for one list."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """In sections."""
        rest = self.list_commands(ctx)
        for title, words in SECTIONS:
            names = [name for name in words.split() if name in rest]
            rest = [name for name in rest if name not in names]
            self._write(ctx, formatter, title, names)
        self._write(ctx, formatter, "Other", rest)


def build() -> typer.Typer:
    """The whole command line. Each entry point is a `commands(app)` function that adds its own."""
    app = typer.Typer(
        name="spanlore",
        help="A local HTTPS proxy that gives coding agents a memory.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        cls=_All,
    )

    @app.callback(invoke_without_command=True)
    def root(
        version: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True),
    ) -> None:
        if version:
            typer.echo(f"spanlore {spanlore.__version__}")
            raise typer.Exit

    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            add = point.load()
        except ModuleNotFoundError as error:
            # A container carries only its own part; whatever else is missing is a fault to see.
            if error.name is None or not error.name.startswith("spanlore_"):
                raise
            continue
        add(app)
    _in_whole_words(app)
    return app


def _in_whole_words(app: typer.Typer) -> None:
    for known in app.registered_groups:
        if known.typer_instance is not None:
            known.typer_instance.info.cls = _Commands
            _in_whole_words(known.typer_instance)


def group(app: typer.Typer, name: str, meaning: str) -> typer.Typer:
    """The sub-command group `name` of `app`: components share groups such as `eval` and `bench`."""
    for known in app.registered_groups:
        if known.name == name and known.typer_instance is not None:
            return known.typer_instance
    made = typer.Typer(name=name, help=meaning, no_args_is_help=True)
    app.add_typer(made, name=name)
    return made


def main() -> None:
    """Runs the command line; wrong settings are told in one message, with exit code 2."""
    try:
        build()()
    except ValueError as error:
        from spanlore.settings import SettingsError  # here, since it brings pydantic

        if not isinstance(error, SettingsError):
            raise
        tell(f"spanlore: {error}")
        sys.exit(2)
