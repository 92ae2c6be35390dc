"""What is known of memories beyond themselves."""

from dataclasses import replace

import pytest

from spanlore.memory.memory import Evidence, EvidenceRole, Memory
from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.memory_reading import (
    MemoryFilter,
    MemoryPage,
    choose,
    open_evidence,
    page_of,
    repositories,
    shown_in,
    uses_of,
)
from support.web_story import REPOSITORY, SESSION, WebStory


@pytest.fixture
def memories(story: WebStory) -> list[Memory]:
    return [operation.memory for operation in story.operations]


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        ({}, [2, 1, 4]),
        ({"view": "review"}, [3]),
        ({"view": "ended"}, [5]),
        ({"view": "all", "kind": "location"}, [5]),
        ({"view": "all", "category": "file_pattern"}, [5]),
        ({"q": "TUESDAYS"}, [2]),
        ({"q": "m-000000000004"}, [4]),
        ({"view": "all", "scope": "user"}, []),
    ],
)
def test_filters(memories: list[Memory], wanted: dict[str, str], numbers: list[int]) -> None:
    """Each view has its statuses; the user's own word stands first."""
    found = choose(memories, MemoryFilter.model_validate(wanted))

    assert [int(memory.id[-1]) for memory in found] == numbers


def test_pages(memories: list[Memory]) -> None:
    """A page after the last one is the last one; without any there is one empty page."""
    found = choose(memories, MemoryFilter(view="all"))
    page = page_of(found, MemoryFilter(page=9, per_page=2))

    assert (len(page.memories), page.found, page.page, page.pages) == (1, 5, 3, 3)
    assert page_of([], MemoryFilter()) == MemoryPage([], 0, 1, 1)


def test_where_it_was_shown(reader: Reader, story: WebStory) -> None:
    """In how many sessions, and where first; what was withheld was not shown."""
    (use,) = uses_of(reader, "m-000000000001")

    assert shown_in(reader) == {"m-000000000001": 1}
    assert (use.session_id, use.requests, use.first_span_id) == (SESSION, 2, story.chat_span)
    assert use.repository == REPOSITORY
    assert uses_of(reader, "m-000000000004") == []


def test_evidence_is_opened(reader: Reader, memories: list[Memory]) -> None:
    """A failing call comes with its command and output, in the order given."""
    (proof,) = open_evidence(reader, memories[0].evidence)

    assert proof.call is not None
    assert (proof.call["command"], proof.call["exit_code"]) == ("pytest -q tests/test_shelf.py", 1)
    assert "KeyError" in proof.call["output"]
    assert open_evidence(reader, ()) == []


def test_a_statement_is_opened_whole(reader: Reader, memories: list[Memory]) -> None:
    """The user's words, not only the quote; a span that is gone leaves the quote."""
    rows = reader.rows(
        "SELECT trace_id, span_id FROM human_messages WHERE session_id = {s:String} ORDER BY time LIMIT 1",
        {"s": SESSION},
    )
    said = Evidence(
        rows[0]["trace_id"], rows[0]["span_id"], SESSION, EvidenceRole.STATEMENT, 1, "Don't change the fixtures."
    )
    found, gone = open_evidence(reader, [said, replace(said, span_id="0" * 16)])

    assert found.said.startswith("The shelf test is flaky.")
    assert (gone.call, gone.said) == (None, "")


def test_repositories_of_sessions(reader: Reader) -> None:
    """Where agents worked, the last one first; a session of no repository is of none."""
    found = repositories(reader)

    assert found[:2] == [REPOSITORY, "github.com/acme/shop"]
    assert "" not in found


def test_what_is_there_twice_waits(memories: list[Memory]) -> None:
    """Also what agents are shown, until somebody merges the two; what has ended does not."""
    twice = [replace(memory, duplicate_of="m-000000000002") for memory in memories]
    found = choose(twice, MemoryFilter.model_validate({"view": "review"}))

    assert sorted(int(memory.id[-1]) for memory in found) == [1, 2, 3, 4]
