"""The command that starts everything."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import spanlore
from spanlore.main import SECTIONS, _Commands, build, group
from spanlore.memory.memory import Source


def spanlore_command(*words: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spanlore", *words]
    return subprocess.run(
        command,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_version(tmp_path: Path) -> None:
    """`--version` prints it and makes nothing."""
    done = spanlore_command("--version", home=tmp_path)

    assert (done.returncode, done.stdout) == (0, f"spanlore {spanlore.__version__}\n")
    assert list(tmp_path.iterdir()) == []


def test_commands_of_all_components() -> None:
    """Found through entry points: one of each component."""
    shown = CliRunner().invoke(build(), ["--help"]).stdout

    for name in ("run", "sessions", "mine"):
        assert f" {name} " in shown


def test_every_command_has_a_section() -> None:
    """`--help` lists each command once, under what it is for, and names none that there is not."""
    root = get_command(build())
    listed = [name for _, words in SECTIONS for name in words.split()]

    assert sorted(listed) == sorted(getattr(root, "commands", {}))
    shown = CliRunner().invoke(build(), ["--help"]).stdout
    assert [shown.index(f"\n{title}:\n") for title, _ in SECTIONS] == sorted(
        shown.index(f"\n{title}:\n") for title, _ in SECTIONS
    )
    assert "Other:" not in shown


def test_wrong_settings_are_one_message(tmp_path: Path) -> None:
    """Exit code 2, no traceback."""
    done = spanlore_command("up", home=tmp_path, SPANLORE_PROXY_PORT="many")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("spanlore: environment variable SPANLORE_PROXY_PORT")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", ["up", "up --detach", "env", "demo --keep IN/demo"])
def test_directories_that_cannot_be_made_are_one_message(tmp_path: Path, words: str) -> None:
    """As on a disk that is read only; an agent is run without us then (`launch.run`)."""
    in_the_way = tmp_path / ".local"
    in_the_way.write_text("a file")
    done = spanlore_command(*words.replace("IN", str(in_the_way)).split(), home=tmp_path)

    assert (done.returncode, done.stdout) == (1, "")
    assert str(in_the_way) in done.stderr
    assert "Traceback" not in done.stderr


def test_unknown_command(tmp_path: Path) -> None:
    """A usage error is exit code 2."""
    assert spanlore_command("no-such-command", home=tmp_path).returncode == 2


def test_groups_are_shared() -> None:
    """Two components that ask for `bench` get one group; another name is another."""
    app = typer.Typer()

    assert group(app, "bench", "a") is group(app, "bench", "b")
    assert group(app, "bench", "a") is not group(app, "eval", "c")


def _helps(command: Any, path: tuple[str, ...], parent: Any = None) -> Iterator[tuple[str, str]]:
    context = command.make_context(path[-1], [], parent=parent, resilient_parsing=True, terminal_width=80)
    yield " ".join(path), command.get_help(context)
    for name in getattr(command, "commands", {}):
        yield from _helps(command.get_command(context, name), (*path, name), context)


def test_every_help_reads_at_80_columns() -> None:
    """No line is wider, and no sentence is cut off with dots."""
    shown = dict(_helps(get_command(build()), ("spanlore",)))

    assert len(shown) > 60
    for path, text in shown.items():
        for line in text.splitlines():
            said = re.sub(r"[\w\]}]\.\.\.", "", line) if line.startswith(("Usage:", "  agent", "  [PATH]")) else line
            assert len(line) <= 80 and "…" not in said and "..." not in said, (path, line)


ASKS_THE_DAEMON = (
    "sessions", "session abc", "search hello", "mine --dry-run", "memories", "why m-1", "pin m-1", "confirm m-1",
    "forget m-1", "undo", "effect", "cost", "recall hello --scope user", "summary", "review", "watch --once",
    "judge status", "notes status", "memories export",
)  # fmt: skip


@pytest.mark.parametrize("words", ASKS_THE_DAEMON)
def test_without_a_daemon_nothing_is_taken_for_data(words: str, tmp_path: Path) -> None:
    """Exit code 3, one message that says what to do, and no word on stdout, as JSON or not."""
    folders = {"SPANLORE_STATE_DIR": str(tmp_path / "state"), "SPANLORE_CONFIG_DIR": str(tmp_path / "config")}
    for more in ([], ["--json"]):
        done = CliRunner().invoke(build(), [*words.split(), *more], env=folders)

        assert (done.exit_code, done.stdout) == (3, "")
        assert re.fullmatch(r"spanlore: the daemon is not running.*; `spanlore up --detach` starts it\.\n", done.stderr)


SLOW = (
    "pydantic asyncio click rich clickhouse_connect aiohttp chdb mitmproxy psutil numpy anthropic jinja2 sqlite3 httpx"
)
RUN = (
    "import sys\nfrom spanlore.main import main\ntry: main()\nfinally: sys.stdout.write('\\n' + ' '.join(sys.modules))"
)


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        ("--version", ""),
        ("--help", ""),
        ("bench --help", ""),
        ("session --help", ""),
        ("recall --scope user --limit 3 pytest fails", ""),
        ("status", "pydantic psutil"),
        ("explain 91ab", "sqlite3"),
        ("sessions --limit 3", "pydantic asyncio rich clickhouse_connect"),
    ],
)
def test_a_command_imports_what_it_needs(tmp_path: Path, words: str, needed: str) -> None:
    """A person, or an agent, waits for each import: what only other commands use is left alone."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    command = [sys.executable, "-c", RUN, *words.split()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    loaded = done.stdout.rpartition("\n")[2].split()

    assert "spanlore.main" in loaded, done.stderr
    assert set(SLOW.split()).intersection(loaded) <= set(needed.split())


def shown_by(words: list[str]) -> tuple[int, str]:
    """(exit code, all that is printed) of a small command."""
    app = typer.Typer(cls=_Commands)

    @app.callback()
    def root() -> None:
        """Makes a group of it."""

    @app.command()
    def tell(
        names: list[str],
        count: int = typer.Option(3, min=1, max=9),
        ratio: float = 0.5,
        where: Path | None = None,
        only: list[str] = typer.Option([]),
        level: Source = Source.MERGED,
        word: str = "x",
        maybe: int | None = None,
        is_loud: bool = False,
    ) -> None:
        typer.echo(repr((names, count, ratio, where, only, level, word, maybe, is_loud)))

    done = CliRunner().invoke(app, ["tell", *words])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    "words",
    [
        ["a"],
        [],
        ["a", "b c", "--count", "9", "--only", "x", "--only", "", "--word", "", "--maybe", "007", "--is-loud"],
        ["a", "--count", "10"],
        ["a", "--count", "0"],
        ["a", "--count", "2.5"],
        ["a", "--count", "\u0663"],
        ["a", "--count", " 3"],
        ["a", "--maybe", "-5"],
        ["a", "--maybe", "x"],
        ["a", "--maybe", "9" * 30],
        ["a", "--ratio", "0.25", "--where", ".", "--level", "explicit"],
        ["a", "--level", "nothing"],
    ],
)
def test_a_plain_parameter_is_what_typer_makes_of_it(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The values, and what is said of wrong ones."""
    ours = shown_by(words)
    monkeypatch.setattr("spanlore.main._take_as_given", lambda _: None)

    assert ours == shown_by(words)
