from typing import Any

from spanlore.transcripts.events import Event, Mark, Stopped
from spanlore.transcripts.lined import read_lined


class Reader:
    """Takes every line for the end of the agent."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.about: dict[str, str] = {}

    def take(self, line: int, event: dict[str, Any]) -> None:
        self.events.append(Stopped(Mark(line)))
        self.about |= {name: str(value) for name, value in event.items()}


def test_each_line_goes_to_the_reader() -> None:
    """With its number; what is no object is counted and passed over."""
    data = b'{"key": "s1", "cwd": "/r"}\n\n{torn\n{"release": "2"}\n'
    found = read_lined(data, "x", Reader(), session="key", version="release")

    assert [event.mark.line for event in found.events] == [0, 3]
    assert (found.harness, found.session_id, found.version, found.cwd, found.branch) == ("x", "s1", "2", "/r", "")
    assert (found.lines, found.malformed_lines) == (3, 1)


def test_what_the_file_does_not_say_is_empty() -> None:
    """No session, no version, no directory."""
    found = read_lined(b"", "x", Reader(), session="key", version="release")
    assert (found.session_id, found.version, found.cwd, found.events) == ("", "", "", ())
