"""Where things lie on disk."""

import subprocess
import sys
from pathlib import Path

import pytest

from spanlore.settings import Paths, child_environment, tell_library


@pytest.mark.parametrize(
    ("environ", "config", "state"),
    [
        ({"HOME": "/h"}, "/h/.config/spanlore", "/h/.local/state/spanlore"),
        ({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/c/spanlore", "/s/spanlore"),
        ({"HOME": "/h", "SPANLORE_CONFIG_DIR": "/c", "SPANLORE_STATE_DIR": "/s"}, "/c", "/s"),
        ({"HOME": "/h", "XDG_STATE_HOME": ""}, "/h/.config/spanlore", "/h/.local/state/spanlore"),
    ],
)
def test_directories(environ: dict[str, str], config: str, state: str) -> None:
    """Our own variables win over XDG's, which win over the defaults; an empty one is none."""
    assert Paths.from_environ(environ) == Paths(config_dir=Path(config), state_dir=Path(state))


def test_relative_directories_are_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The daemon stands elsewhere than the command that names them."""
    monkeypatch.chdir(tmp_path)

    assert Paths.from_environ({"HOME": "/h", "SPANLORE_STATE_DIR": "s"}).state_dir == tmp_path / "s"


def test_everything_lies_below_the_state_directory() -> None:
    """Nothing is written elsewhere; only what the user writes lies in the config directory."""
    paths = Paths(config_dir=Path("/c"), state_dir=Path("/s"))
    places = {name: getattr(paths, name) for name, value in vars(Paths).items() if isinstance(value, property)}

    assert places.pop("config_file") == Path("/c/config.toml")
    assert places.pop("prompts_dir") == Path("/c/prompts")
    assert all(place.is_relative_to("/s") for place in places.values())
    assert len(set(places.values())) == len(places)


def test_directories_are_private(tmp_path: Path) -> None:
    """0700, also over a state directory that was wider."""
    (tmp_path / "state").mkdir(mode=0o755)
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")

    paths.ensure()

    for folder in (paths.config_dir, paths.state_dir, paths.ca_dir, paths.log_dir, paths.runs_dir, paths.spool_dir):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_token_is_made_once_and_private(tmp_path: Path) -> None:
    """The same token for everybody, 0600, long enough not to be guessed."""
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")

    token = paths.token()

    assert paths.token() == token
    assert len(token) >= 32
    assert paths.token_file.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in paths.state_dir.iterdir() if file.name.startswith("token")] == ["token"]


@pytest.mark.parametrize("left", ["", "\n"])
def test_an_empty_token_is_made_anew(tmp_path: Path, left: str) -> None:
    """What a crash left of it would open every port to everybody."""
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    paths.token_file.write_text(left)

    token = paths.token()

    assert len(token) >= 32
    assert paths.token() == token
    assert paths.token_file.stat().st_mode & 0o777 == 0o600


def test_two_processes_get_one_token(tmp_path: Path) -> None:
    """Of two that make it at once, both get the same."""
    script = (
        "import sys; from pathlib import Path; from spanlore.settings import Paths;"
        "sys.stdout.write(Paths(Path(sys.argv[1]), Path(sys.argv[1])).token())"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    one, other = (process.communicate(timeout=300)[0] for process in both)

    assert one == other != ""


def test_a_library_is_told_what_nobody_has_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a person set for it stands."""
    monkeypatch.setenv("SOME_LIBRARY_CONF", "theirs")
    monkeypatch.setenv("ANOTHER_LIBRARY_CONF", "")
    monkeypatch.delenv("ANOTHER_LIBRARY_CONF")

    tell_library("SOME_LIBRARY_CONF", "ours")
    tell_library("ANOTHER_LIBRARY_CONF", "ours")

    environment = child_environment({})
    assert (environment["SOME_LIBRARY_CONF"], environment["ANOTHER_LIBRARY_CONF"]) == ("theirs", "ours")
