"""Which files a repository ignores, with git itself as the judge."""

import subprocess
from pathlib import Path

import pytest

from spanlore.repository.ignored import BELIEVED_S, IgnoredPaths

FILES = (
    ".env", ".env.local", ".env.example", "app/.env.local", "secrets/key.txt", "secrets/deep/er.txt", "src/main.py",
    "build/out.log", "app/build/x", "docs/build", "keep/no.tmp", "keep/yes.tmp", "weird name.txt", "ümlaut.key",
    "node_modules/a/index.js", "node_modules/keep.js", "own/local.txt", "everywhere.swp", "excluded.txt",
    "a/b/c/deep.dat", "sub/only-here.txt", "only-here.txt", "#hash", "!bang", "trailing ",
)  # fmt: skip
TOP = """\
# secrets
.env*
!.env.example
/secrets/
build/
*.tmp
!keep/yes.tmp
weird\\ name.txt
*.key
node_modules
!node_modules/keep.js
a/**/deep.dat
\\#hash
\\!bang
[
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with an excludes file, as git is told below."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/ignore\n[user]\n\tname = x\n")
    (home / "ignore").write_text("*.swp\n")
    return home


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text(TOP)
    (root / "sub" / ".gitignore").write_text("only-here.txt\n")
    (root / "app" / ".gitignore").write_text("!.env.local\n/build\n")
    (root / "own" / ".gitignore").write_text("*\n")
    (root / ".git" / "info" / "exclude").write_text("excluded.txt\n")
    return root


def as_git_says(root: Path, home: Path) -> set[str]:
    told = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=root,
        env={"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "PATH": "/usr/bin:/bin"},
        input="\0".join(FILES).encode(),
        capture_output=True,
        check=False,
    )
    return {name for name in told.stdout.decode().split("\0") if name}


def test_the_same_files_as_git(root: Path, home: Path) -> None:
    """Nested files, negation, directories, escapes, patterns that are none, `info/exclude` and the user's own file."""
    ignored = IgnoredPaths(home, home / ".config")

    expected = as_git_says(root, home)

    assert {name for name in FILES if str(root / name) in ignored} == expected
    assert {".env.local", "secrets/deep/er.txt", "everywhere.swp", "excluded.txt", "own/local.txt"} <= expected
    assert not {".env.example", "app/.env.local", "src/main.py", "keep/yes.tmp", "only-here.txt"} & expected


def test_the_default_excludes_file(root: Path, tmp_path: Path) -> None:
    """Without a configured one, `git/ignore` in the XDG directory counts."""
    (tmp_path / "xdg" / "git").mkdir(parents=True)
    (tmp_path / "xdg" / "git" / "ignore").write_text("src/\n")

    ignored = IgnoredPaths(tmp_path / "nobody", tmp_path / "xdg")

    assert str(root / "src/main.py") in ignored
    assert str(root / "everywhere.swp") not in ignored


def test_what_is_not_there_yet_and_roundabout_names(root: Path, home: Path) -> None:
    """A path counts by its name, also before it exists, with `..` in it, and through a link to what is ignored."""
    (root / "link.txt").symlink_to(root / "secrets" / "key.txt")
    ignored = IgnoredPaths(home, home / ".config")

    assert str(root / "secrets" / "to-be-written") in ignored
    assert str(root / "src" / ".." / ".env") in ignored
    assert str(root / "link.txt") in ignored


@pytest.mark.parametrize(
    "path", ["relative/.env", "", "/", "/nowhere/at/all/.env", "/with\0nul/.env", f"/{'n' * 5000}"]
)
def test_outside_of_repositories_nothing_is_ignored(path: str, home: Path) -> None:
    """No such path raises, either."""
    assert path not in IgnoredPaths(home, home / ".config")


def test_a_changed_file_counts_soon(root: Path, home: Path) -> None:
    """Answers are believed for a moment; then the files are looked at again."""
    now = [0.0]
    ignored = IgnoredPaths(home, home / ".config", lambda: now[0])
    path = str(root / "src" / "main.py")
    assert path not in ignored
    (root / ".gitignore").write_text("src/\n")
    assert path not in ignored

    now[0] = BELIEVED_S

    assert path in ignored


def test_a_repository_within_a_repository_is_its_own(root: Path, home: Path) -> None:
    """The nearest one decides, in whatever order its files and those around it are asked for; git's own directory holds
    nothing that is ignored."""
    inner = root / "src" / "vendored"
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    (inner / ".gitignore").write_text("*.local\n")
    paths = {inner / "x.local": True, inner / ".env": False, root / "src" / ".env": True, root / "src/x.local": False}
    paths |= {root / ".git" / ".env": False, root / ".git" / "hooks" / "a.tmp": False, root / "build": True}

    for ordered in (list(paths), list(reversed(paths))):
        ignored = IgnoredPaths(home, home / ".config")
        assert {path: str(path) in ignored for path in ordered} == paths


def test_a_link_counts_by_where_it_leads_also_as_a_directory(root: Path, home: Path) -> None:
    """A file below a link to an ignored directory, and a link whose own name is ignored."""
    (root / "shown").symlink_to(root / "secrets" / "deep")
    (root / "own.key").symlink_to(root / "src" / "main.py")
    ignored = IgnoredPaths(home, home / ".config")

    assert str(root / "shown" / "er.txt") in ignored
    assert str(root / "shown" / "to-be-written") in ignored
    assert str(root / "own.key") in ignored
