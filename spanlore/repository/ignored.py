"""Which files does a repository ignore? As gitignore(5) says, with `pathspec` for the patterns.

Every `.gitignore` from the top of the working tree down to the file, `.git/info/exclude` and the user's own excludes
file count; the deepest that says something decides, and nothing comes back below a directory that is ignored. Read by
file, no subprocess, as `checkout` does. One difference to git: a file that is tracked although a pattern names it is
ignored here, since the index is not read. Nothing here raises: what can't be read says nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import Final

from pathspec import GitIgnoreSpec

from spanlore.repository.checkout import common_dir, config_value, git_dir

MAX_FILE_BYTES: Final = 1024**2
"""Of a file of patterns; longer ones are read up to there."""
BELIEVED_S: Final = 2.0
"""How long an answer is believed before the files are looked at again."""
MAX_REMEMBERED: Final = 4096
_EMPTY: Final = GitIgnoreSpec.from_lines(())


class IgnoredPaths:
    """Answers for any path of this machine. Not safe to share by threads."""

    def __init__(self, home: Path, config_home: Path, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`home` is the user's, where `.gitconfig` lies; `config_home` the XDG directory that has `git/` in it."""
        self._home = home
        self._config_home = config_home
        self._clock_s = clock_s
        self._specs: dict[Path, tuple[tuple[int, int], GitIgnoreSpec]] = {}
        self._answers: dict[str, bool] = {}
        self._answers_until_s = 0.0

    def __contains__(self, path: object) -> bool:
        """Whether the repository that holds this absolute path ignores it. False outside of repositories."""
        if not isinstance(path, str):
            return False
        now_s = self._clock_s()
        if now_s >= self._answers_until_s or len(self._answers) >= MAX_REMEMBERED:
            self._answers.clear()
            self._answers_until_s = now_s + BELIEVED_S
        if path not in self._answers:
            try:
                self._answers[path] = self._is_ignored(path)
            except (OSError, ValueError, RuntimeError):  # no path at all: a NUL in it, a name too long, a loop of links
                self._answers[path] = False
        return self._answers[path]

    def _is_ignored(self, path: str) -> bool:
        given = Path(path)
        if not given.is_absolute():
            return False
        plain = Path(_normal(given))
        # As it is named, and as it is: a link out of the tree into an ignored directory shows what lies there.
        return any(self._in_its_tree(one) for one in dict.fromkeys((plain, plain.resolve())))

    def _in_its_tree(self, path: Path) -> bool:
        for root in path.parents:
            found = git_dir(root / ".git")
            if found is not None:
                return self._below(root, found, path)
        return False

    def _below(self, root: Path, found: Path, path: Path) -> bool:
        parts = path.relative_to(root).parts
        if parts[:1] == (".git",):
            return False
        common = common_dir(found)
        specs = [(0, self._spec(file)) for file in (self._excludes_file(common), common / "info" / "exclude")]
        for depth in range(len(parts)):
            specs.append((depth, self._spec(root.joinpath(*parts[:depth], ".gitignore"))))
            is_last = depth == len(parts) - 1
            kind = "" if is_last and not path.is_dir() else "/"
            if _verdict(specs, parts[: depth + 1], kind):
                return True
        return False

    def _excludes_file(self, common: Path) -> Path:
        """The one that `core.excludesFile` names, else its default."""
        for file in (common / "config", self._home / ".gitconfig", self._config_home / "git" / "config"):
            named = config_value(file, "core", "excludesfile")
            if named:
                return self._home / named.removeprefix("~/")
        return self._config_home / "git" / "ignore"

    def _spec(self, file: Path) -> GitIgnoreSpec:
        try:
            stat = file.stat()
        except OSError:
            return _EMPTY
        state = (stat.st_mtime_ns, stat.st_size)
        known = self._specs.get(file)
        if known is None or known[0] != state:
            if len(self._specs) >= MAX_REMEMBERED:
                self._specs.clear()
            known = self._specs[file] = (state, _read(file))
        return known[1]


def _verdict(specs: list[tuple[int, GitIgnoreSpec]], parts: tuple[str, ...], kind: str) -> bool:
    """What the deepest file that has a word on this path says."""
    for depth, spec in reversed(specs):
        if spec is not _EMPTY:
            said = spec.check_file("/".join(parts[depth:]) + kind).include
            if said is not None:
                return said
    return False


def _read(file: Path) -> GitIgnoreSpec:
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return _EMPTY
    good = []
    for line in text.removeprefix("\ufeff").splitlines():
        try:
            GitIgnoreSpec.from_lines((line,))
        except ValueError:
            continue  # git passes over a pattern that is none
        good.append(line)
    return GitIgnoreSpec.from_lines(good)


def _normal(path: PurePath) -> str:
    """Without `.` and `..`, by the text alone."""
    out: list[str] = []
    for part in path.parts[1:]:
        if part == "..":
            del out[-1:]
        elif part != ".":
            out.append(part)
    return path.anchor + "/".join(out)
