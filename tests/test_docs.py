"""What README, DESIGN.md and docs name is there: files, commands with their options, settings."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from spanlore.main import build
from spanlore.settings.settings import describe

ROOT = Path(__file__).parents[1]
FOREIGN = {"memories-read.md"}
"""It quotes what sessions in other repositories said."""
DOCS = [
    ROOT / "README.md",
    *sorted(ROOT.glob("*/DESIGN.md")),
    *sorted(file for file in (ROOT / "docs").glob("*.md") if file.name not in FOREIGN),
]
NAMED = pytest.mark.parametrize("doc", DOCS, ids=[file.relative_to(ROOT).as_posix() for file in DOCS])


@cache
def tracked() -> frozenset[str]:
    """Every file of the repository and every folder that holds one, below the root."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    files = {PurePosixPath(name) for name in listed.split("\0") if name}
    return frozenset(str(path) for file in files for path in (file, *file.parents))


@cache
def commands() -> TyperGroup:
    """The whole command line."""
    group = typer.main.get_command(build())
    assert isinstance(group, TyperGroup)
    return group


def code_in(doc: Path) -> list[str]:
    """What stands in backticks, and the lines of indented blocks, each with the options that the comment behind it
    names."""
    text = doc.read_text()
    lines = [line.strip().partition("  # ") for line in text.splitlines() if line.startswith("    ")]
    options = [" ".join(re.findall(r"--[a-z-]+", re.sub(r"`[^`]*`", "", said))) for _, _, said in lines]
    blocks = [f"{line.strip()} {more}".strip() for (line, _, _), more in zip(lines, options, strict=True)]
    return [*re.findall(r"`([^`\n]+)`", text), *blocks]


def paths_in(doc: Path) -> set[str]:
    """`wire/sse`, `docs/settings.md`, `grafana/boards/*.py`; not routes, which begin with a slash."""
    spoken = re.compile(r"[\w.-]+(?:/[\w.*-]+)+/?")
    return {word for word in code_in(doc) if spoken.fullmatch(word) and word not in WORDS}


WORDS = {"prompts/judge.AGENT.md"}
"""A user's own file."""


def is_there(path: str) -> bool:
    """From the root, or from a folder of it: a module may be named without its ending."""
    pattern = re.escape(path.rstrip("/")).replace(r"\*", "[^/]*")
    known = re.compile(rf"(?:.*/)?{pattern}(?:\.py|\.md|\.sql)?")
    return any(known.fullmatch(name) for name in tracked())


@NAMED
def test_files_are_there(doc: Path) -> None:
    """A path in backticks is one of the repository's, and a link leads somewhere."""
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", doc.read_text())

    assert [path for path in paths_in(doc) if not is_there(path)] == []
    assert [link for link in links if not (doc.parent / link).exists()] == []


def test_sections_are_there() -> None:
    """No file of ours is divided by numbers, so nothing points to a numbered section of one."""
    numbered = re.compile(r"(?:DESIGN|\.md) §")
    texts = {name: ROOT / name for name in tracked() if name.endswith((".py", ".md", ".toml", ".sql"))}

    assert [name for name, file in texts.items() if file.exists() and numbered.search(file.read_text())] == []


def called_in(doc: Path) -> Iterator[tuple[str, list[str]]]:
    """Each `spanlore …` with its words, up to what is handed to another program."""
    for code in code_in(doc):
        if re.match(r"spanlore [a-z]", code):
            call = re.split(r" -- |;| \| ", code)[0]
            yield code, re.split(r"[\s,]+", call.strip())[1:]


def unknown_in(words: list[str]) -> list[str]:
    """The words of a call that are neither a command, where one must stand, nor an option of that command."""
    command: Any = commands()
    wrong = []
    for word in words:
        if word.startswith("-"):
            known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
            wrong += [word] if word.split("=")[0] not in known else []
        elif isinstance(command, TyperGroup):
            found = command.commands.get(word)
            if found is None:
                return [*wrong, word]
            command = found
    return wrong


@NAMED
def test_commands_are_there(doc: Path) -> None:
    """A command that is named can be called, with the options that are named."""
    wrong = {code: unknown for code, words in called_in(doc) if (unknown := unknown_in(words))}

    assert wrong == {}


@NAMED
def test_settings_are_there(doc: Path) -> None:
    """`section.key` and `SPANLORE_…` in backticks are settings."""
    keys = {key for _, key, _, _ in describe()}
    names = {name for name, _, _, _ in describe()}
    names |= set(re.findall(r'"(SPANLORE_\w+)"', (ROOT / "spanlore" / "settings" / "paths.py").read_text()))
    sections = {key.partition(".")[0] for key in keys if "." in key}
    said = {word for code in code_in(doc) for word in re.findall(r"^[a-z_]+\.[a-z_]+(?= = |$)", code)}
    variables = {word for code in code_in(doc) for word in re.findall(r"\bSPANLORE_(?!TEST_)[A-Z_]+[A-Z]", code)}

    assert {word for word in said if word.partition(".")[0] in sections} <= keys
    assert variables <= names
