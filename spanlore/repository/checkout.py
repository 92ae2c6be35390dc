"""Where a working directory stands: repository, sub-path and branch, read from `.git` by file.

No subprocess: git may be missing, slow on a cold disk, or refuse a directory of another owner; the files' layout is
documented (gitrepository-layout) and has been stable for twenty years. A linked worktree resolves to its repository
through `commondir`, so what was learned in one worktree is known in all. Nothing here raises: what can't be read is
unknown, and an unknown repository means that nothing is ever injected.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanlore.repository.remote import scope_of_remote

MAX_FILE_BYTES: Final = 1024**2
"""Of a `.git/config`. Real ones have a few kilobytes; those of machines with thousands of branches some hundred."""

_SECTION: Final = re.compile(r'\[\s*([-.\w]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY: Final = re.compile(r"([A-Za-z][-\w]*)\s*=\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working directory's place in a repository. Empty, with no root, outside of one."""

    scope: str = ""
    """`host/owner/name` of the remote; `path:/abs/dir` where there is none."""
    sub_path: str = ""
    """Of the working directory below `root`, with slashes; '' at the root."""
    branch: str = ""
    """'' on a detached head."""
    root: Path | None = None
    """Top of this working tree; a linked worktree's own."""
    upstream: str = ""
    """Scope of what it was forked from, as a remote named `upstream` tells; '' for no fork."""


def locate(cwd: Path) -> Checkout:
    """The checkout that holds `cwd`, which need not exist any more."""
    cwd = _real(cwd)
    for folder in (cwd, *cwd.parents):
        found = git_dir(folder / ".git")
        if found is not None:
            common = common_dir(found)
            scope = _scope(common)
            return Checkout(
                scope=scope,
                sub_path="" if cwd == folder else cwd.relative_to(folder).as_posix(),
                branch=_branch(found),
                root=folder,
                upstream=_upstream(common, scope),
            )
    return Checkout()


def _real(path: Path) -> Path:
    try:
        return path.expanduser().resolve()
    except (OSError, RuntimeError):
        return path.absolute()


def git_dir(dot_git: Path) -> Path | None:
    """The directory itself, or the one that a worktree's or submodule's `.git` file names."""
    if (dot_git / "HEAD").is_file():
        return dot_git
    line = _read(dot_git)
    if not line.startswith("gitdir:"):
        return None
    named = _real(dot_git.parent / line.removeprefix("gitdir:").strip())
    return named if (named / "HEAD").is_file() else None


def common_dir(git_directory: Path) -> Path:
    """What a linked worktree shares with its repository; otherwise the directory itself."""
    named = _read(git_directory / "commondir").strip()
    return _real(git_directory / named) if named else git_directory


def _branch(git_directory: Path) -> str:
    head = _read(git_directory / "HEAD").strip()
    # With reftable the file only says `ref: refs/heads/.invalid`.
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head and not name.startswith(".") else ""


def _scope(common: Path) -> str:
    home = common.parent if common.name == ".git" else common.with_name(common.name.removesuffix(".git") or common.name)
    remotes = _remotes(_read(common / "config"))
    url = remotes.get("origin") or next(iter(remotes.values()), "")
    if not url:
        return f"path:{home}"
    return scope_of_remote(url) or _scope_of_path(url, home)


def _upstream(common: Path, scope: str) -> str:
    parent = scope_of_remote(_remotes(_read(common / "config")).get("upstream", ""))
    return parent if parent != scope else ""


def _scope_of_path(url: str, home: Path) -> str:
    """A remote that is a directory: all its clones share that directory's scope."""
    upstream = _real(home / url.removeprefix("file://"))
    if upstream.name == ".git":
        upstream = upstream.parent
    return f"path:{upstream.with_name(upstream.name.removesuffix('.git') or upstream.name)}"


def config_value(file: Path, section: str, key: str) -> str:
    """What a file of git's configuration says last under this section (without a name) and key; both lower case."""
    said = [value for where, name, entry, value in _entries(_read(file)) if (where, name, entry) == (section, "", key)]
    return said[-1] if said else ""


def _remotes(config: str) -> dict[str, str]:
    """Name → first URL, in the file's order."""
    found: dict[str, str] = {}
    for section, name, key, value in _entries(config):
        if section == "remote" and name and key == "url":
            found.setdefault(name, value)
    return {name: url for name, url in found.items() if url}


def _entries(config: str) -> Iterator[tuple[str, str, str, str]]:
    """(section, its name, key, value) in the file's order (git-config(1), "Syntax"; includes are not followed)."""
    section, name = "", ""
    for line in config.replace("\\\n", "").splitlines():
        left = line.strip()
        if match := _SECTION.match(left):
            section, name = match[1].lower(), _unescape(match[2] or "")
            left = left[match.end() :].strip()
        entry = _ENTRY.fullmatch(left)
        if entry:
            yield section, name, entry[1].lower(), _value(entry[2])


def _value(raw: str) -> str:
    """A value without its comment and quotes."""
    out, quoted = [], False
    characters = iter(raw.strip())
    for character in characters:
        if character == "\\":
            out.append(next(characters, ""))
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            out.append(character)
    return "".join(out).strip()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _read(path: Path) -> str:
    """The file's text; '' if it is missing, unreadable, or no text file of ordinary size."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_FILE_BYTES).decode(errors="replace")
    except OSError:
        return ""
