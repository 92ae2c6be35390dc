"""Putting the service and the shell's functions in place, and taking everything away again. Each step may be repeated.

What is taken away is found by name, not by a list that could be lost; a directory goes only when it is empty, and only
below HOME.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanlore.settings import Paths
from spanlore_proxy.install.service import ServiceFile
from spanlore_proxy.install.shell import Shell, functions, start_file, with_block, without_block

type Run = Callable[[Sequence[str]], str]
"""Runs a command; '' when it worked, else what it said."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where things go."""

    paths: Paths
    home: Path
    zdotdir: str = ""

    def functions_file(self, shell: Shell) -> Path:
        """Fish reads a file by its directory; bash and zsh read ours by a block in theirs."""
        return start_file(shell, self.home) if shell is Shell.FISH else self.paths.config_dir / "agents.sh"


def install_service(service: ServiceFile, run: Run, make_way: Callable[[], list[str]] = list) -> list[str]:
    """Writes the service and starts it; says what was done. `make_way` is called before it is started for the first
    time: a daemon that runs by itself would keep the service's from starting."""
    changed = _write(service.path, service.text)
    lines = [f"{'wrote' if changed else 'is there already:'} {service.path}"]
    *before, start = service.start
    for command in before:
        if failed := run(command):
            return [*lines, *_at_login(service, command, failed)]
    if run(service.is_active):
        lines += make_way()
    if failed := run(start):
        return [*lines, *_at_login(service, start, failed)]
    return [*lines, "the service runs, and starts by itself at each login"]


def _at_login(service: ServiceFile, command: Sequence[str], failed: str) -> list[str]:
    """The service manager does not answer: what it would do is done for it."""
    for link in service.links:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(service.path)
    return [f"{' '.join(command)}: {failed}", "the service starts at the next login; until then `spanlore up --detach`"]


def remove_service(service: ServiceFile, place: Place, run: Run) -> list[str]:
    """Stops the service and removes its files."""
    if not any(path.is_symlink() or path.exists() for path in (service.path, *service.links)):
        return []
    failed = [said for command in service.stop if (said := run(command))]
    for path in (*service.links, service.path):
        path.unlink(missing_ok=True)
        _remove_empty(path.parent, place.home)
    # A manager that is not there says so at each command; what it would have done has been done for it.
    return [*dict.fromkeys(failed), f"removed {service.path}"]


def install_shell(shell: Shell, agents: Sequence[str], executable: str, place: Place) -> list[str]:
    """Writes the functions and has the shell read them; says what was done."""
    file = place.functions_file(shell)
    changed = _write(file, functions(agents, executable, shell))
    lines = [f"{'wrote' if changed else 'is there already:'} {file} ({', '.join(agents) or 'no agents'})"]
    if shell is not Shell.FISH:
        start = start_file(shell, place.home, place.zdotdir)
        text = _read(start) if start.exists() else None
        after = with_block(text, file)
        if after != text:
            _replace(start, after)
            lines.append(f"{start} reads it")
    return lines


def remove_shell(place: Place) -> list[str]:
    """Takes the functions and the blocks out of every shell that could have them."""
    lines = []
    for shell in Shell:
        if shell is not Shell.FISH:
            lines += _without(start_file(shell, place.home, place.zdotdir))
        file = place.functions_file(shell)
        if file.exists():
            file.unlink()
            lines.append(f"removed {file}")
            _remove_empty(file.parent, place.home)
    return lines


def purge(place: Place) -> list[str]:
    """Removes settings, CA, token, sessions and memories: all of the two directories. One that holds the home
    directory, since `SPANLORE_STATE_DIR` says so, stays: it is not spanlore's alone."""
    lines = []
    for folder in (place.paths.config_dir, place.paths.state_dir):
        if place.home.resolve().is_relative_to(folder.resolve()):
            lines.append(f"kept {folder}, which holds your home directory: remove what is spanlore's by hand")
            continue
        if folder.exists():
            shutil.rmtree(folder)
            lines.append(f"removed {folder}")
        _remove_empty(folder.parent, place.home)
    return lines


def default_shells(environ: Mapping[str, str]) -> list[Shell]:
    """The user's login shell, when it is one that is known."""
    name = Path(environ.get("SHELL", "")).name
    return [Shell(name)] if name in Shell else []


def _without(start: Path) -> list[str]:
    if not start.exists():
        return []
    text = _read(start)
    before = without_block(text)
    if before == text:
        return []
    if before is None:
        start.unlink()
    else:
        _replace(start, before)
    return [f"{start} is as it was"]


def _write(path: Path, text: str) -> bool:
    """Writes the file where it differs; returns whether it did."""
    if path.exists() and _read(path) == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, text)
    return True


def _read(path: Path) -> str:
    """Every byte comes back as it was: line ends and what is no UTF-8, too."""
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _replace(path: Path, text: str) -> None:
    """Atomic; a link is followed (many keep their start files in a repository), permissions stay."""
    real = path.resolve()
    fresh = real.with_name(f".{real.name}.spanlore")
    fresh.write_bytes(text.encode("utf-8", "surrogateescape"))
    if real.exists():
        shutil.copymode(real, fresh)
    fresh.replace(real)


def _remove_empty(folder: Path, home: Path) -> None:
    """The folder and those above it, below HOME, as long as they are empty."""
    for one in _upwards(folder, home):
        try:
            one.rmdir()
        except OSError:
            return


def _upwards(folder: Path, home: Path) -> Iterable[Path]:
    while folder != home and folder.is_relative_to(home):
        yield folder
        folder = folder.parent
