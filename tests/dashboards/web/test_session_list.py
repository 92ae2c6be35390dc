"""Which sessions are shown."""

import time

import pytest
from pydantic import ValidationError

from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.session_list import SessionFilter, choices, find_sessions
from support.web_story import REPOSITORY, SESSION


def ids(reader: Reader, **wanted: object) -> list[str]:
    return [
        row["session_id"] for row in find_sessions(reader, SessionFilter.model_validate(wanted), time.time_ns()).rows
    ]


OTHERS = [f"5e551011-bbbb-4000-8000-00000000000{day}" for day in range(3)]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, [SESSION, *OTHERS]),
        ({"repository": REPOSITORY}, [SESSION]),
        ({"agent": "codex"}, OTHERS[:2]),
        ({"model": "local-model"}, OTHERS[2:]),
        ({"outcome": "failed"}, [SESSION]),
        ({"outcome": "clean"}, OTHERS),
        ({"outcome": "error"}, [SESSION]),
        ({"outcome": "interrupted"}, [SESSION]),
        ({"outcome": "memory"}, [SESSION]),
        ({"q": "CHANGELOG"}, OTHERS[:1]),
        ({"q": "text like"}, []),
        ({"q": "And what is"}, [SESSION]),
        ({"q": "5e551011-bbbb"}, OTHERS),
        ({"days": 1}, [SESSION]),
        ({"sort": "cost"}, [OTHERS[0], OTHERS[1], SESSION, OTHERS[2]]),
        ({"sort": "duration"}, [SESSION, *OTHERS]),
    ],
)
def test_filters(reader: Reader, wanted: dict[str, object], found: list[str]) -> None:
    """Each filter finds what has it and nothing else; a session without a price comes last by cost."""
    assert ids(reader, **wanted) == found


def test_pages(reader: Reader) -> None:
    """A page after the last one is the last one; the sums are of all that was found, on every page."""
    page = find_sessions(reader, SessionFilter(page=99, per_page=3), time.time_ns())

    assert [row["session_id"] for row in page.rows] == OTHERS[2:]
    assert (page.page, page.pages, page.found, page.failed) == (2, 2, 4, 1)
    assert page.cost_usd == pytest.approx(2 * 0.31 + 2 * 0.12 + 7 * 0.0123 + 0.0411)
    assert page.rows[0]["models"] == ["local-model"]


def test_nothing_found(reader: Reader) -> None:
    """One empty page."""
    page = find_sessions(reader, SessionFilter(q="no such thing", page=3), time.time_ns())

    assert (page.rows, page.found, page.page, page.pages) == ([], 0, 1, 1)


def test_choices(reader: Reader) -> None:
    """What can be filtered for, most used first, without what is not known."""
    found = choices(reader)

    assert found.agents[0] == ("codex", 2)
    assert dict(found.repositories) == {REPOSITORY: 1, "github.com/acme/shop": 2}
    assert {name for name, _ in found.models} == {"claude-sonnet-4-5", "gpt-5-codex", "local-model"}


def test_address_says_only_what_was_chosen() -> None:
    """A filter as a query string leaves its defaults out."""
    assert SessionFilter(agent="codex", page=3).query(page=4) == {"agent": "codex", "page": "4"}
    with pytest.raises(ValidationError):
        SessionFilter.model_validate({"sort": "colour"})
