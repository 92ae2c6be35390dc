"""The `spanlore` command: finds every component's commands through entry points and loads them when called."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.metadata import distribution
from typing import Any, Final, get_args, get_origin

import typer
from typer.core import TyperGroup

import spanlore
from spanlore.settings.paths import NoDirectoryError
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


class _Given:
    """What typer's coercion makes of a parameter, where that is plain to see: a word stays a word.

    Typer has pydantic make a validator for each parameter, and loading that takes longer than all else that most
    commands do. Whatever is not plain (choices, paths, what may be wrong) typer looks at, and says what is wrong.
    """

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value for the command's function."""
        is_many = param.multiple or param.nargs == -1
        if value is None:
            return () if is_many else None
        kind, told = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        if told.parser is None and not is_many:
            if kind is str and type(value) is str:
                return value
            if kind is int and _is_number(value) and _lies_within(int(value), told):
                return int(value)
        is_of_words = is_many and get_origin(kind) is list and get_args(kind) == (str,) and told.parser is None
        if is_of_words and isinstance(value, list | tuple) and all(type(item) is str for item in value):
            return list(value)
        return type(param).get_runtime_param(param).coerce(value, param=param, ctx=ctx)


def _take_as_given(params: Iterable[Any]) -> None:
    for param in params:
        vars(param)["get_runtime_param"] = _Given


def _is_number(value: Any) -> bool:
    return type(value) is int or (type(value) is str and value.isascii() and value.isdecimal() and len(value) < 10)


def _lies_within(number: int, told: Any) -> bool:
    return (told.min is None or told.min <= number) and (told.max is None or number <= told.max)


class _Commands(TyperGroup):
    """A group that tells what each of its commands is for in whole words: Click cuts at the end of the line."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Its own options; the plain ones cost nothing."""
        _take_as_given(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is asked for; its plain parameters cost nothing."""
        name, command, rest = super().resolve_command(ctx, args)
        _take_as_given(command.get_params(ctx) if command is not None else ())
        return name, command, rest

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

    # Those of this distribution alone: to ask all that are installed takes as long as to load the commands.
    points = distribution("spanlore").entry_points.select(group=GROUP)
    for point in sorted(points, key=lambda point: point.name):
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
    """Runs the command line. Wrong settings are told in one message, with exit code 2; directories that can't be made
    likewise, with 1."""
    try:
        build()()
    except NoDirectoryError as error:
        tell(f"spanlore: {error}")
        sys.exit(1)
    except ValueError as error:
        from spanlore.settings import SettingsError  # here, since it brings pydantic

        if not isinstance(error, SettingsError):
            raise
        tell(f"spanlore: {error}")
        sys.exit(2)
