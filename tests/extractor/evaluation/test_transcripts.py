import json
from pathlib import Path

import pytest

from spanlore_extractor.evaluation.transcripts import read_session


def write(root: Path, file: str, text: str) -> None:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)


def test_the_path_names_harness_and_repository(tmp_path: Path) -> None:
    """`sessions/<harness>/<owner>__<name>/<file>`."""
    file = "sessions/mini-swe-agent/Some__Repo/a.json"
    write(tmp_path, file, json.dumps({"messages": []}))

    session = read_session(tmp_path, file)

    assert session is not None
    assert (session.harness, session.repository) == ("mini-swe-agent", "github.com/some/repo")


def test_unknown_harnesses_are_left_out(tmp_path: Path) -> None:
    """Another reader's files are not guessed at."""
    write(tmp_path, "sessions/other/a__b/c.json", "{}")

    assert read_session(tmp_path, "sessions/other/a__b/c.json") is None


def test_broken_files_raise(tmp_path: Path) -> None:
    """What is not what its harness writes is told, not skipped."""
    write(tmp_path, "sessions/swe-agent/a__b/c.traj", "{")

    with pytest.raises(ValueError):
        read_session(tmp_path, "sessions/swe-agent/a__b/c.traj")
