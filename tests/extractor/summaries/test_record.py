from dataclasses import asdict, replace

import orjson
import pytest

from spanlore_extractor.mining.summary import Resolved, Summary, summarise
from spanlore_extractor.summaries.record import head_of, is_worth_keeping, row_of, summary_of, text_of
from support.told import Told, failing_tests

WINDOW_NS = 600 * 10**9


def test_there_and_back() -> None:
    """A summary comes out of the store as it went in."""
    summary = summarise(failing_tests("record-1").session(), WINDOW_NS)
    row = row_of(summary)

    assert summary_of(row) == summary
    assert (row["steps"], row["text"]) == (summary.steps, text_of(summary))
    assert summary.resolved and "Errors resolved:" in row["text"]
    assert head_of(summary).startswith("record-1  claude-code")


def test_what_other_versions_wrote() -> None:
    """Unknown fields are left out and missing ones empty; what is no summary is refused with its session."""
    expected = Summary("s", "r", "", "h", 1, 2, goal="g")
    names = ("session_id", "repository", "branch", "harness", "start_time_ns", "end_time_ns", "goal")
    data = {name: value for name, value in asdict(expected).items() if name in names}
    found = summary_of({"json": orjson.dumps({**data, "mood": "fine"}).decode()})

    assert found == expected
    for text in ("", "[]", "{}", '{"resolved": 3}'):
        with pytest.raises(ValueError, match="summary of s-9"):
            summary_of({"session_id": "s-9", "json": text})


def test_what_is_not_worth_keeping() -> None:
    """A session in which nobody asked and nothing was called."""
    empty = summarise(Told().agent("Hi.").session(), WINDOW_NS)

    assert not is_worth_keeping(empty)
    assert is_worth_keeping(replace(empty, goal="x")) and is_worth_keeping(replace(empty, counts={"tool_calls": 1}))


def test_a_person_s_words_are_whole() -> None:
    """A long rule is not cut in the middle."""
    rule = "remember that " + " ".join(f"word{n}" for n in range(28))
    summary = summarise(Told().human("go").run("ls", "a").human(rule).session(), WINDOW_NS)

    assert len(summary.decisions[0]) > 160 and summary.decisions[0].endswith("word27")
    assert asdict(replace(summary, resolved=(Resolved("a", "b", "usage"),)))["resolved"][0]["fix"] == "b"
