"""Files that are their user's alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spanlore import private_file


@pytest.mark.parametrize("put", [private_file.replace, private_file.write])
@pytest.mark.parametrize("before", [None, 0o644, 0o666])
def test_nobody_else_reads_it(tmp_path: Path, put: Callable[[Path, bytes], None], before: int | None) -> None:
    """Also where a file lay that everybody could read."""
    file = tmp_path / "secret"
    if before is not None:
        file.write_text("old and much longer")
        file.chmod(before)

    put(file, b"new")

    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"new", 0o600)
    assert list(tmp_path.iterdir()) == [file]


def test_whole_or_not_at_all(tmp_path: Path) -> None:
    """What can't be put there leaves what was there, and nothing beside it."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "inside").touch()

    with pytest.raises(OSError):
        private_file.replace(tmp_path / "taken", b"new")

    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    """A link under the name of the draft, or under the file's own, does not lead the secret elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    (tmp_path / f".secret.{os.getpid()}").symlink_to(elsewhere)
    (tmp_path / "secret").symlink_to(elsewhere)

    private_file.replace(tmp_path / "secret", b"new")

    assert not elsewhere.exists()
    assert not (tmp_path / "secret").is_symlink()


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    """`--output` may name one: the shell's process substitution does."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o644)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()

    private_file.write(pipe, b"new")
    reader.join(10)

    assert (read, pipe.is_fifo()) == ([b"new"], True)
