"""How far a collector is that opens its store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spanlore import opening
from spanlore.opening import Opening


def test_what_is_told_is_read(tmp_path: Path) -> None:
    """By its user alone, whole, and in words."""
    file = tmp_path / "opening.json"

    opening.tell(file, "bringing the store to this version (0041_texts)", 2, 40)

    assert opening.read(file) == Opening(os.getpid(), "bringing the store to this version (0041_texts)", 2, 40)
    assert str(opening.read(file)) == "bringing the store to this version (0041_texts), step 3 of 40"
    assert str(Opening(1, "opening the store")) == "opening the store"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_dead_process_opens_nothing(tmp_path: Path) -> None:
    """What a killed collector left behind is no progress."""
    file = tmp_path / "opening.json"
    code = (
        "import sys; from pathlib import Path; from spanlore import opening; opening.tell(Path(sys.argv[1]), 'at it')"
    )
    subprocess.run([sys.executable, "-c", code, str(file)], check=True)

    assert file.exists()
    assert opening.read(file) is None


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"pid": "x"}', '{"pid": 99999999999999999999, "doing": "", "done": 0}']
)
def test_what_is_no_such_file_tells_nothing(tmp_path: Path, text: str) -> None:
    """Torn, empty or foreign."""
    file = tmp_path / "opening.json"
    file.write_text(text)

    assert opening.read(file) is None


def test_a_full_disk_keeps_nothing_from_being_done(tmp_path: Path) -> None:
    """Where it can't be told it is not told."""
    opening.tell(tmp_path / "no-such-folder" / "opening.json", "opening the store")
