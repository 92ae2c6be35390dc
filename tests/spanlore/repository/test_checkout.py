"""Where a working directory stands, with repositories that git itself made."""

import subprocess
from pathlib import Path

import pytest

from spanlore.repository.checkout import Checkout, locate


def git(cwd: Path, *words: str) -> None:
    """Runs git without the machine's own configuration."""
    subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always", *words],
        cwd=cwd,
        check=True,
        capture_output=True,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit on branch `main`."""
    root = (tmp_path / "work").resolve()
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_origin_decides(repository: Path) -> None:
    """Of several remotes `origin` names the scope, wherever it stands."""
    git(repository, "remote", "add", "fork", "https://example.org/me/name")
    git(repository, "remote", "add", "origin", "git@example.org:owner/name.git")
    (repository / "src" / "deep").mkdir(parents=True)

    assert locate(repository / "src" / "deep") == Checkout(
        scope="example.org/owner/name", sub_path="src/deep", branch="main", root=repository
    )


def test_first_remote_without_origin(repository: Path) -> None:
    """Without `origin` the first remote in the config counts."""
    git(repository, "remote", "add", "upstream", "https://example.org/owner/name")
    git(repository, "remote", "add", "another", "https://example.org/me/name")

    assert locate(repository).scope == "example.org/owner/name"


def test_without_remote_the_path_is_the_scope(repository: Path) -> None:
    """A repository nobody shares is known by its directory."""
    assert locate(repository) == Checkout(scope=f"path:{repository}", sub_path="", branch="main", root=repository)


def test_outside_a_repository(tmp_path: Path) -> None:
    """No `.git` above: no scope, so nothing will be injected."""
    assert locate(tmp_path) == Checkout()


def test_worktree_resolves_to_its_repository(repository: Path, tmp_path: Path) -> None:
    """A linked worktree has its repository's scope, its own branch and its own root."""
    tree = tmp_path.resolve() / "tree"
    git(repository, "worktree", "add", "-q", "-b", "topic/x", str(tree))

    assert locate(tree) == Checkout(scope=f"path:{repository}", sub_path="", branch="topic/x", root=tree)

    git(repository, "remote", "add", "origin", "https://example.org/owner/name")
    assert locate(tree).scope == "example.org/owner/name"


def test_submodule_is_its_own_repository(repository: Path, tmp_path: Path) -> None:
    """A submodule's `.git` file leads to its own config, not to the one around it."""
    git(repository, "remote", "add", "origin", "https://example.org/owner/outer")
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q", "-b", "main")
    git(inner, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "submodule", "--quiet", "add", str(inner), "lib")

    found = locate(repository / "lib")

    assert (found.scope, found.root) == (f"path:{inner.resolve()}", repository / "lib")


def test_clones_of_a_directory_share_its_scope(repository: Path, tmp_path: Path) -> None:
    """A remote that is a path names the same scope as the repository at that path."""
    git(tmp_path, "clone", "-q", str(repository), "clone")

    assert locate(tmp_path / "clone").scope == locate(repository).scope


def test_detached_head_has_no_branch(repository: Path) -> None:
    """A commit id is not a branch."""
    git(repository, "checkout", "-q", "--detach")

    assert locate(repository).branch == ""


def test_vanished_directory(repository: Path) -> None:
    """A working directory that was deleted under its agent still stands where it stood."""
    assert locate(repository / "gone" / "too").sub_path == "gone/too"


def test_config_syntax(repository: Path) -> None:
    """Quotes, comments, continuation lines, odd case and a one-line section are git's own syntax."""
    config = (
        '[remote "a b"]\n; url = x\n\tfetch = y\n[Remote "origin"] URL = "https://example.org/owner\\\n/name" # tail\n'
    )
    (repository / ".git" / "config").write_text(config)

    assert locate(repository).scope == "example.org/owner/name"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"gitdir: /nowhere", b"gitdir: ."])
def test_broken_dot_git_is_no_repository(tmp_path: Path, content: bytes) -> None:
    """A `.git` file that leads nowhere is passed over."""
    (tmp_path / ".git").write_bytes(content)

    assert locate(tmp_path) == Checkout()
