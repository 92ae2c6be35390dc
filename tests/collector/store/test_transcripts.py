"""Search over what was said, and one session's messages, on a real store."""

import uuid
from dataclasses import replace
from typing import Any

import pytest

from spanlore_collector.store import transcripts
from spanlore_collector.store.reader import Reader
from spanlore_collector.store.transcripts import Wanted, words_of
from spanlore_proxy.conversation.tracker import Tracker
from support.collector_process import CollectorProcess
from support.conversing import WORKPLACE, Play, call, result, spans, user

MARK = uuid.uuid4().hex[:12]


@pytest.fixture(scope="module")
def reader(collector: CollectorProcess) -> Reader:
    """A store with sessions of two repositories, whose words hold a mark."""
    for number, name in enumerate(("one", "two")):
        place = replace(WORKPLACE, repository=f"github.com/{MARK}/{name}")
        play = Play(tracker=Tracker(), session=f"{MARK}-{number}", workplace=place)
        play.say(user(f"Please find the {MARK} Walrus and its 100% 'friend'."))
        told = spans(play.ask(call("t1", f"grep -r {MARK} .")))
        play.say(user(result("t1", f"docs/{MARK}.md: an otter")))
        told += spans(play.ask(f"Only an otter is at {MARK}."))
        assert collector.post_spans(told).status == 200
    return Reader(collector.clickhouse_url, collector.paths.token())


def found(reader: Reader, *words: str, **wanted: Any) -> list[tuple[str, str]]:
    rows = transcripts.search(reader, replace(Wanted(words), **wanted))
    return [(row["direction"], row["harness"]) for row in rows]


def test_all_words_in_any_case(reader: Reader) -> None:
    """All of them have to be in one text; a phrase is one word; what SQL or LIKE would read is text."""
    assert len(found(reader, MARK, "walrus")) == 2
    assert found(reader, MARK, "walrus", "otter") == []
    assert len(found(reader, f"{MARK} WALRUS and its 100% 'friend'")) == 2
    assert found(reader, MARK, "1_0%") == []
    assert found(reader) == []


def test_filters(reader: Reader) -> None:
    """By who said it, agent, repository, time and number."""
    assert {direction for direction, _ in found(reader, MARK)} == {"input", "output", "arguments", "result"}
    assert {direction for direction, _ in found(reader, MARK, speaker="tool")} == {"arguments", "result"}
    assert found(reader, MARK, speaker="user", repository=f"{MARK}/two") == [("input", "claude-code")]
    assert len(found(reader, MARK, speaker="user", agent="claude-code")) == 2
    assert found(reader, MARK, agent="codex") == []
    assert found(reader, MARK, speaker="model", repository=f"{MARK}/one") == [("output", "claude-code")]
    assert found(reader, MARK, since_ns=2**62) == []
    assert len(found(reader, MARK, limit=3)) == 3


def test_the_snippet_holds_the_word(reader: Reader) -> None:
    """And says where it stands."""
    [row] = transcripts.search(reader, Wanted((MARK, "otter"), speaker="model", repository="two"))

    assert f"Only an otter is at {MARK}." in row["snippet"]
    assert (row["session_id"], row["repository"]) == (f"{MARK}-1", f"github.com/{MARK}/two")
    assert len(row["span_id"]) == 16


def test_messages_of_a_session(reader: Reader) -> None:
    """Each part once, in order, with its text."""
    parts = transcripts.messages(reader, f"{MARK}-0")
    bodies = [part["body"] for part in parts if part["direction"] in ("arguments", "result")]

    assert next(part["direction"] for part in parts if part["role"] == "user") == "input"
    assert len(bodies) == 2
    assert all(MARK in body for body in bodies)
    asked = [part["body"] for part in parts if part["role"] == "user" and part["type"] == "text"]
    assert asked == [f"Please find the {MARK} Walrus and its 100% 'friend'."]
    assert len(transcripts.messages(reader, f"{MARK}-0", with_turns=True)) > len(parts)
    assert len({(p["span_id"], p["direction"], p["message_index"], p["part_index"]) for p in parts}) == len(parts)


def test_spans_of_a_session(reader: Reader) -> None:
    """All of its traces, each span once."""
    rows = transcripts.spans(reader, f"{MARK}-0")

    assert len({row["SpanId"] for row in rows}) == len(rows) >= 3
    assert all(int(row["start_ns"]) > 10**18 for row in rows)


def test_words_of_a_query() -> None:
    """Quotes keep words together; one that is not closed is a letter."""
    assert words_of('a "b c" d') == ("a", "b c", "d")
    assert words_of("it's") == ("it's",)
    assert words_of("  ") == ()
