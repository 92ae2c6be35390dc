import json
from pathlib import Path

import pytest

from spanlore.transcripts.reading import UnknownFormatError
from spanlore_extractor.evaluation.transcripts import read_path, read_session


def write(root: Path, file: str, text: str) -> Path:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)
    return root / file


def test_the_content_names_the_harness_and_the_path_the_repository(tmp_path: Path) -> None:
    """`sessions/<harness>/<owner>__<name>/<file>`."""
    file = "sessions/anything/Some__Repo/a.json"
    write(tmp_path, file, json.dumps({"info": {}, "messages": [{"role": "user", "content": "go"}]}))

    session = read_session(tmp_path, file)

    assert (session.harness, session.repository) == ("mini-swe-agent", "github.com/some/repo")


def test_unknown_files_raise(tmp_path: Path) -> None:
    """Another writer's files are not guessed at."""
    with pytest.raises(UnknownFormatError):
        read_path(write(tmp_path, "c.json", "{}"))


def test_opencodes_storage_is_read(tmp_path: Path) -> None:
    """A session file of the storage folder brings its messages and parts along."""
    session = write(tmp_path, "storage/session/p/ses_1.json", '{"id": "ses_1"}')
    write(tmp_path, "storage/message/ses_1/m.json", '{"id": "m", "role": "user"}')
    write(tmp_path, "storage/part/m/p.json", '{"id": "p", "type": "text", "text": "go"}')

    assert len(read_path(session).events) == 1
