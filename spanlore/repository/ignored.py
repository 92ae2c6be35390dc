"""Which files does a repository ignore? As gitignore(5) says, with `pathspec` for the patterns.

Every `.gitignore` from the top of the working tree down to the file, `.git/info/exclude` and the user's own excludes
file count; the deepest that says something decides, and nothing comes back below a directory that is ignored. Read by
file, no subprocess, as `checkout` does. One difference to git: a file that is tracked although a pattern names it is
ignored here, since the index is not read. Nothing here raises: what can't be read says nothing.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from spanlore.repository.checkout import common_dir, config_value, git_dir

MAX_FILE_BYTES: Final = 1024**2
"""Of a file of patterns; longer ones are read up to there."""
BELIEVED_S: Final = 2.0
"""How long an answer is believed before the files are looked at again."""
MAX_REMEMBERED: Final = 4096
_EMPTY: Final = GitIgnoreSpec.from_lines(())


@dataclass(frozen=True, slots=True)
class _Folder:
    """What a directory's place in its repository says of all that lies in it."""

    parts: tuple[str, ...] = ()
    """Below the top of the working tree."""
    specs: tuple[tuple[int, GitIgnoreSpec], ...] | None = None
    """(how many of the parts lie above it, patterns), the deepest last; None outside of repositories."""
    is_ignored: bool = False
    is_own: bool = False
    """It is git's own directory, or in it: nothing there is ignored."""


_OUTSIDE: Final = _Folder()


class IgnoredPaths:
    """Answers for any path of this machine. Not safe to share by threads."""

    def __init__(self, home: Path, config_home: Path, clock_s: Callable[[], float] = time.monotonic) -> None:
        """`home` is the user's, where `.gitconfig` lies; `config_home` the XDG directory that has `git/` in it."""
        self._home = home
        self._config_home = config_home
        self._clock_s = clock_s
        self._specs: dict[str, tuple[tuple[int, int], GitIgnoreSpec]] = {}
        self._answers: dict[str, bool] = {}
        self._folders: dict[str, _Folder] = {}
        self._real: dict[str, str] = {}
        """Directory → the same without links."""
        self._answers_until_s = 0.0

    def __contains__(self, path: object) -> bool:
        """Whether the repository that holds this absolute path ignores it. False outside of repositories."""
        if not isinstance(path, str):
            return False
        now_s = self._clock_s()
        if now_s >= self._answers_until_s or len(self._answers) + len(self._folders) >= MAX_REMEMBERED:
            self._answers.clear()
            self._folders.clear()
            self._real.clear()
            self._answers_until_s = now_s + BELIEVED_S
        if path not in self._answers:
            try:
                self._answers[path] = self._is_ignored(path)
            except (OSError, ValueError, RuntimeError):  # no path at all: a NUL in it, a name too long, a loop of links
                self._answers[path] = False
        return self._answers[path]

    def _is_ignored(self, path: str) -> bool:
        if not path.startswith("/"):
            return False
        # As it is named, and as it is: a link out of the tree into an ignored directory shows what lies there.
        plain = posixpath.normpath(path)
        return self._in_its_tree(plain) or ((real := self._without_links(plain)) != plain and self._in_its_tree(real))

    def _without_links(self, path: str) -> str:
        folder, name = posixpath.split(path)
        real = self._real.get(folder)
        if real is None:
            real = self._real[folder] = posixpath.realpath(folder)
        whole = posixpath.join(real, name)
        return posixpath.realpath(whole) if posixpath.islink(whole) else whole

    def _in_its_tree(self, path: str) -> bool:
        folder, name = posixpath.split(path)
        return bool(name) and _says(self._folder(folder), name, lambda: posixpath.isdir(path))

    def _folder(self, path: str) -> _Folder:
        known = self._folders.get(path)
        if known is None:
            known = self._folders[path] = self._read_folder(path)
        return known

    def _read_folder(self, path: str) -> _Folder:
        found = git_dir(Path(path, ".git"))
        if found is not None:
            common = common_dir(found)
            of_all = (self._excludes_file(common), common / "info" / "exclude", Path(path, ".gitignore"))
            return _Folder((), tuple((0, self._spec(str(file))) for file in of_all))
        above, name = posixpath.split(path)
        if not name:
            return _OUTSIDE
        holder = self._folder(above)
        if holder.specs is None:
            return _OUTSIDE
        parts = (*holder.parts, name)
        if holder.is_own or parts == (".git",):
            return _Folder(parts, (), is_own=True)
        if _says(holder, name, lambda: True):
            return _Folder(parts, (), is_ignored=True)
        spec = self._spec(posixpath.join(path, ".gitignore"))
        return _Folder(parts, holder.specs if spec is _EMPTY else (*holder.specs, (len(parts), spec)))

    def _excludes_file(self, common: Path) -> Path:
        """The one that `core.excludesFile` names, else its default."""
        for file in (common / "config", self._home / ".gitconfig", self._config_home / "git" / "config"):
            named = config_value(file, "core", "excludesfile")
            if named:
                return self._home / named.removeprefix("~/")
        return self._config_home / "git" / "ignore"

    def _spec(self, file: str) -> GitIgnoreSpec:
        try:
            stat = Path(file).stat()
        except OSError:
            return _EMPTY
        state = (stat.st_mtime_ns, stat.st_size)
        known = self._specs.get(file)
        if known is None or known[0] != state:
            if len(self._specs) >= MAX_REMEMBERED:
                self._specs.clear()
            known = self._specs[file] = (state, _read(Path(file)))
        return known[1]


def _says(folder: _Folder, name: str, is_directory: Callable[[], bool]) -> bool:
    """Whether what lies in the folder under this name is ignored."""
    if folder.specs is None or folder.is_own or (not folder.parts and name == ".git"):
        return False
    if folder.is_ignored:
        return True
    specs = [(depth, spec) for depth, spec in folder.specs if spec is not _EMPTY]
    return bool(specs) and _verdict(specs, (*folder.parts, name), "/" if is_directory() else "")


def _verdict(specs: list[tuple[int, GitIgnoreSpec]], parts: tuple[str, ...], kind: str) -> bool:
    """What the deepest file that has a word on this path says."""
    for depth, spec in reversed(specs):
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
