"""Which agent wrote a file."""

from __future__ import annotations

import orjson
import pytest

from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from support.session_files import SAMPLES, broken


@pytest.mark.parametrize("harness", SAMPLES)
def test_every_agent_is_told_by_its_content(harness: str) -> None:
    """No path and no name is needed."""
    found = read_transcript(b"\n".join(map(orjson.dumps, SAMPLES[harness])))

    assert (found.harness, found.malformed_lines) == (harness, 0)
    assert found.events


@pytest.mark.parametrize("harness", SAMPLES)
def test_malformed_values_never_raise(harness: str) -> None:
    """Every value of the sample in turn replaced by one of another type: read, or refused as unknown."""
    for lines in broken(SAMPLES[harness]):
        try:
            read_transcript(b"\n".join(map(orjson.dumps, lines)))
        except UnknownFormatError:
            continue


@pytest.mark.parametrize("harness", ["claude-code", "codex", "pi", "copilot-cli"])
def test_torn_files_are_read_as_far_as_they_go(harness: str) -> None:
    """A file that is still being written ends anywhere."""
    data = b"\n".join(map(orjson.dumps, SAMPLES[harness]))
    for end in range(len(orjson.dumps(SAMPLES[harness][0])), len(data)):
        assert read_transcript(data[:end]).malformed_lines <= 1


@pytest.mark.parametrize("data", [b"", b"hello", b"[1,2]", b"{}", b'{"a": 1}\n{"b": 2}', b"\x00\xff"])
def test_other_files_are_refused(data: bytes) -> None:
    """What no agent writes says so."""
    with pytest.raises(UnknownFormatError, match="no session of Claude Code"):
        read_transcript(data)


def test_lines_without_the_sessions_id() -> None:
    """The roles of its messages tell Claude Code's file as well."""
    data = b'{"type":"user","message":{"role":"user","content":"go"}}\n'

    assert read_transcript(data).harness == "claude-code"
