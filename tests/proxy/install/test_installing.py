"""What is put in place and taken away, in a HOME of its own."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from spanlore.settings import Paths
from spanlore_proxy.install.installing import (
    Place,
    default_shells,
    install_service,
    install_shell,
    purge,
    remove_service,
    remove_shell,
)
from spanlore_proxy.install.service import ServiceFile, service_for
from spanlore_proxy.install.shell import Shell


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A HOME with a shell's start file and a configuration of somebody else's."""
    (tmp_path / ".bashrc").write_bytes(b"export A=1\r\n# \xff")
    (tmp_path / ".config" / "other").mkdir(parents=True)
    (tmp_path / ".config" / "other" / "file").write_text("x")
    return Place(Paths.from_environ({"HOME": str(tmp_path)}), tmp_path)


@pytest.fixture
def service(place: Place) -> ServiceFile:
    return service_for("linux", place.home, ("python", "-m", "spanlore", "up"), {})


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file with its bytes, every directory."""
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def works(command: Sequence[str]) -> str:
    return ""


def test_all_of_it_leaves_nothing_behind(place: Place, service: ServiceFile) -> None:
    """Installed twice for every shell and removed: HOME is as it was, byte for byte."""
    before = tree(place.home)
    for _ in range(2):
        install_service(service, works)
        for shell in Shell:
            install_shell(shell, ["claude", "codex"], "/x/spanlore", place)
    place.paths.ensure()
    during = tree(place.home)
    remove_service(service, place, works)
    remove_shell(place)
    purge(place)

    assert len(during) > len(before) + 5
    assert tree(place.home) == before


def test_repeating_changes_nothing(place: Place, service: ServiceFile) -> None:
    """The second time every file is there already."""
    first = [*install_service(service, works), *install_shell(Shell.ZSH, ["codex"], "/x", place)]
    after = tree(place.home)
    second = [*install_service(service, works), *install_shell(Shell.ZSH, ["codex"], "/x", place)]

    assert any(line.startswith("wrote") for line in first)
    assert not any(line.startswith("wrote") for line in second)
    assert tree(place.home) == after


def test_removing_what_is_not_there(place: Place, service: ServiceFile) -> None:
    """Nothing is done and nothing said."""
    before = tree(place.home)

    assert [*remove_service(service, place, works), *remove_shell(place), *purge(place)] == []
    assert tree(place.home) == before


def test_a_manager_that_does_not_answer(place: Place, service: ServiceFile) -> None:
    """The file is written all the same, and it is said that nothing was started."""
    asked: list[Sequence[str]] = []

    def fails(command: Sequence[str]) -> str:
        asked.append(command)
        return "Failed to connect to bus"

    lines = install_service(service, fails)

    [link] = service.links
    assert service.path.exists()
    assert len(asked) == 1
    assert "at the next login" in lines[-1]
    assert link.resolve() == service.path
    assert any("Failed to connect" in line for line in remove_service(service, place, fails))
    assert not service.path.exists() and not link.is_symlink()


def test_a_daemon_that_runs_by_itself_makes_way(service: ServiceFile) -> None:
    """Before the service is started for the first time, not when it runs already."""
    said: list[str] = []

    def make_way() -> list[str]:
        said.append("asked")
        return ["stopped it"]

    def not_yet(command: Sequence[str]) -> str:
        return "inactive" if command == service.is_active else ""

    assert "stopped it" in install_service(service, not_yet, make_way)
    assert "stopped it" not in install_service(service, works, make_way)
    assert said == ["asked"]


def test_a_linked_start_file_stays_a_link(place: Place) -> None:
    """Those who keep their files in a repository find the block there; permissions stay."""
    real = place.home / "dotfiles" / "zshrc"
    real.parent.mkdir()
    real.write_text("a\n")
    real.chmod(0o600)
    (place.home / ".zshrc").symlink_to(real)
    install_shell(Shell.ZSH, ["codex"], "/x", place)

    assert (place.home / ".zshrc").is_symlink()
    assert "spanlore" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o600
    remove_shell(place)
    assert real.read_text() == "a\n"


def test_the_login_shell_is_the_default() -> None:
    """One that is not known is left alone."""
    assert default_shells({"SHELL": "/usr/bin/zsh"}) == [Shell.ZSH]
    assert default_shells({"SHELL": "/bin/tcsh"}) == default_shells({}) == []


def test_a_home_is_never_purged(tmp_path: Path) -> None:
    """A state directory that holds the home directory is not spanlore's alone."""
    home = tmp_path / "home"
    (home / "config").mkdir(parents=True)
    (home / "letters").touch()
    lines = purge(Place(Paths(home / "config", home), home))

    assert (home / "letters").exists()
    assert not (home / "config").exists()
    assert [line.split()[0] for line in lines] == ["removed", "kept"]
