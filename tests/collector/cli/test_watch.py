"""The live view."""

from pathlib import Path
from typing import Any

import pytest

from spanlore_collector.cli.watch import Moment, moment, view
from support.snapshots import in_utc, plain, same

SECOND = 10**9
START = 1_796_000_000 * SECOND
SESSION = {
    "session_id": "5e551011-0000-4000-8000-000000000000",
    "harness": "claude-code",
    "repository": "github.com/example/tally",
    "branch": "main",
    "start_time_ns": START,
    "end_time_ns": START + 130 * SECOND,
    "inferences": 7,
    "input_tokens": 123_456,
    "output_tokens": 789,
    "cost_usd": 0.4242,
}


def event(seconds: int, what: str, name: str, text: str, outcome: str = "") -> dict[str, Any]:
    """One thing that happened."""
    return {
        "session_id": SESSION["session_id"],
        "span_id": f"{seconds:016}",
        "time_ns": START + seconds * SECOND,
        "what": what,
        "name": name,
        "text": text,
        "outcome": outcome,
        "duration_ns": 1_200_000_000,
    }


EVENTS = [
    event(130, "model", "claude-sonnet-4-5", "tool_use", "success"),
    event(128, "tool", "Bash", "python3 -m unittest discover -s tests --locals --verbose --failfast", "failure"),
    event(126, "model", "claude-sonnet-4-5", "overloaded_error", "failure"),
    event(120, "user", "", "Run the tests of this project\nand tell me whether they pass.", ""),
]


def test_it_reads_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line a session, a line an event, newest first; nothing running says how to begin."""
    with in_utc(monkeypatch):
        text = plain(view(Moment(START + 135 * SECOND, [SESSION, SESSION | {"cost_usd": None}], EVENTS)))

    same(text, Path(__file__).with_name("snapshots") / "watch.txt")
    assert "spanlore run" in plain(view(Moment(START, [], [])))


class Recorder:
    """A store that answers nothing and keeps what it was asked."""

    def __init__(self) -> None:
        self.since: list[int] = []

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        self.since.append((parameters or {})["since"])
        return []


def test_only_the_last_minutes_are_asked_for() -> None:
    """A quarter of an hour, whatever else is stored."""
    store = Recorder()

    assert moment(store, START).to_json() == {"now_ns": START, "sessions": [], "events": []}
    assert store.since == [START - 900 * SECOND] * 2
