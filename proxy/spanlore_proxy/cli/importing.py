"""`spanlore import`: sessions of the past, from the files that agents keep."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import TYPE_CHECKING, Any

import typer

from spanlore.ending import NOT_RUNNING, USAGE, WRONG, say

if TYPE_CHECKING:
    from spanlore.settings import Paths
    from spanlore_proxy.importers.collecting import CollectorLink
    from spanlore_proxy.importers.importing import Imported, Rules

FOLLOW_S = 2.0
"""Between two looks at the files."""


def register(app: typer.Typer) -> None:
    """Adds `import`."""

    @app.command("import")
    def import_(
        agent: str = typer.Argument(
            metavar="AGENT", help="claude, codex, opencode, gemini, pi, copilot, mini, swe-agent, or all."
        ),
        paths: list[Path] | None = typer.Argument(None, metavar="PATH", help="Files or folders; else its own."),
        dry_run: bool = typer.Option(False, "--dry-run", help="Only tell what would be imported."),
        follow: bool = typer.Option(False, "--follow", help="Go on, and take what is written from now on."),
        repository: str = typer.Option("", help="Scope of sessions whose directory is not here: host/owner/name."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Take sessions out of the files an agent keeps; twice changes nothing."""
        raise typer.Exit(
            run(agent, paths or [], dry_run=dry_run, follow=follow, repository=repository, as_json=as_json)
        )


class _RefusedError(Exception):
    """Nothing is imported. The message says why."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def run(agent: str, paths: list[Path], *, dry_run: bool, follow: bool, repository: str, as_json: bool) -> int:
    """The command; its exit code."""
    from spanlore.settings import Paths, child_environment
    from spanlore_proxy.importers.collecting import CollectorError

    environment = child_environment({})
    total = _Total()
    try:
        files = _files_of(agent, paths, environment)
        if not follow and not any(files().values()):
            raise _RefusedError(f"no sessions of {agent} where it keeps them; name a PATH", WRONG)
        _import(files, Paths.from_environ(environment), total, dry_run=dry_run, follow=follow, repository=repository)
    except _RefusedError as refused:
        say(str(refused))
        return refused.exit_code
    except CollectorError as error:
        say(f"{error}. What was taken is kept; say it again to go on.")
        return WRONG
    except KeyboardInterrupt:
        pass
    typer.echo(total.table(dry_run))
    if as_json:
        typer.echo(json.dumps(total.as_json(dry_run)))
    return 0


def _files_of(agent: str, paths: list[Path], environment: Mapping[str, str]) -> Callable[[], dict[str, list[Path]]]:
    """What tells the files by agent; '' stands for whatever agent a file is of."""
    from spanlore_proxy.importers.places import PATTERNS, agent_named, files_below, own_files

    try:
        agents = list(PATTERNS) if agent == "all" else [agent_named(agent)]
    except ValueError as error:
        raise _RefusedError(str(error), USAGE) from None
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise _RefusedError(f"there is no {missing[0]}", USAGE)
    if agent == "all" and paths:
        agents = [""]
    return lambda: {one: files_below(paths) if paths else own_files(one, environment) for one in agents}


def _import(
    files: Callable[[], dict[str, list[Path]]], state: Paths, total: _Total,
    *, dry_run: bool, follow: bool, repository: str,
) -> None:  # fmt: skip
    from spanlore.settings import load_settings
    from spanlore.spans.price import use_own_prices
    from spanlore_proxy.importers.importing import REMEMBERED, Memory, import_all

    settings = load_settings()
    use_own_prices(settings.prices)
    if settings.capture.mode == "off":
        raise _RefusedError("capture is off (`capture.mode`): nothing is imported", WRONG)
    link = None if dry_run else _link(state)
    if link is None and not dry_run:
        message = "the daemon is not running; `spanlore up --detach` starts it, and `--dry-run` needs none."
        raise _RefusedError(message, NOT_RUNNING)
    memory, rules = Memory.load(state.state_dir / REMEMBERED), _rules(settings, repository)
    with _stopping() as stopped:
        while not stopped.is_set():
            for one, found in files().items():
                total.take(import_all(_until(stopped, _shown(found, one)), one, rules, link, memory, time.time_ns))
            if not follow:
                break
            stopped.wait(FOLLOW_S)


@contextmanager
def _stopping() -> Iterator[Event]:
    """Set by the first Ctrl-C: the file at hand is finished and counted, none is begun. The second one breaks off."""
    stopped = Event()

    def stop(*_: object) -> None:
        stopped.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    if current_thread() is not main_thread():  # only there can signals be taken
        yield stopped
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


def _until(stopped: Event, files: Iterable[Path]) -> Iterator[Path]:
    return takewhile(lambda _: not stopped.is_set(), files)


def _link(state: Any) -> CollectorLink | None:
    from spanlore_proxy.importers.collecting import CollectorLink

    try:
        data = json.loads(state.daemon_file.read_bytes())
        return CollectorLink(int(data["collector_port"]), int(data["clickhouse_port"]), state.token())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _rules(settings: Any, repository: str) -> Rules:
    from spanlore.redaction.redact import Redactor
    from spanlore_proxy.capture.ignored import ignored_files
    from spanlore_proxy.capture.redacting import redact_with
    from spanlore_proxy.importers.importing import Rules
    from spanlore_proxy.injection.injector import is_off

    ignored = ignored_files(settings.capture)
    redact = redact_with(Redactor(settings.capture.redact))
    return Rules(
        redact=redact if ignored is None else ignored.redacting(redact),
        ignored=ignored,
        is_off=lambda workplace: is_off(
            workplace, settings.capture.off_repositories, settings.capture.only_repositories
        ),
        is_metadata_only=settings.capture.mode == "metadata",
        repository=repository,
    )


def _shown(files: list[Path], agent: str) -> Iterable[Path]:
    """The files, with a progress bar on a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal or len(files) < 2:
        return files
    return track(files, description=agent, console=console, transient=True)


class _Total:
    """All files of one command."""

    def __init__(self) -> None:
        self.done: dict[str, Imported] = {}

    def take(self, imported: Iterable[Imported]) -> None:
        """In --follow a file comes again and again; its new spans add up."""
        for one in imported:
            before = self.done.get(one.path)
            if before is not None and one.skipped == "unchanged":
                continue
            if before is not None:
                one.new_spans += before.new_spans
            self.done[one.path] = one

    def table(self, dry_run: bool) -> str:
        """For people: one line an agent, then what was left and why."""
        lines = [f"{'agent':<16}{'files':>7}{'sessions':>10}{'lines':>9}{'malformed':>11}{'spans':>9}{'new':>9}"]
        for agent, rows in sorted(self._by_agent().items()):
            sums = [sum(getattr(row, name) for row in rows) for name in _COLUMNS]
            new = "-" if dry_run else str(sums[4])
            lines.append(f"{agent:<16}{len(rows):>7}{sums[0]:>10}{sums[1]:>9}{sums[2]:>11}{sums[3]:>9}{new:>9}")
        reasons: dict[str, int] = {}
        for row in self.done.values():
            if row.skipped:
                reasons[row.skipped] = reasons.get(row.skipped, 0) + 1
        lines += [f"{count} left out: {reason}"[:80] for reason, count in sorted(reasons.items())]
        unknown = sum(row.sessions for row in self.done.values() if row.sessions and not row.repository)
        if unknown:
            lines.append(f"{unknown} of unknown repository: nothing is learned from them (--repository)")
        still = sum(row.is_open for row in self.done.values())
        if still:
            lines.append(f"{still} still being written: the last answer waits for the next import")
        return "\n".join(lines)

    def as_json(self, dry_run: bool) -> dict[str, Any]:
        """For scripts."""
        from spanlore_proxy.importers.importing import as_json

        return {
            "dry_run": dry_run,
            "files": [as_json(row) for row in self.done.values()],
            **{name: sum(getattr(row, name) for row in self.done.values()) for name in _COLUMNS},
        }

    def _by_agent(self) -> dict[str, list[Imported]]:
        out: dict[str, list[Imported]] = {}
        for row in self.done.values():
            out.setdefault(row.harness or "other", []).append(row)
        return out


_COLUMNS = ("sessions", "lines", "malformed_lines", "spans", "new_spans")
