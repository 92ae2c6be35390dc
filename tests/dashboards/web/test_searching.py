"""Search over sessions."""

import pytest

from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.searching import SearchFilter, search
from support.web_story import SESSION, WebStory


@pytest.mark.parametrize(
    ("text", "where", "found"),
    [
        ("keyerror", "", {"tool_output"}),
        ("don't change the FIXTURES", "", {"user"}),
        ("order of a `Shelf`", "model", {"model"}),
        ("make test", "tool", {"tool_input"}),
        ("12 passed", "model", set()),
        ("k", "", set()),
        ("100%_", "", set()),
    ],
)
def test_where_a_text_stands(reader: Reader, text: str, where: str, found: set[str]) -> None:
    """In any case, in each kind of content; one character is no text."""
    hits = search(reader, SearchFilter.model_validate({"q": text, "where": where}))

    assert {hit.where for hit in hits} == found


def test_a_hit_opens_its_span(reader: Reader, story: WebStory) -> None:
    """The span that the text belongs to, with the text marked in what stands around it."""
    (hit,) = search(reader, SearchFilter(q="KeyError", where="tool"))

    assert (hit.session_id, hit.span_id, hit.tool) == (SESSION, story.failed_span, "Bash")
    assert hit.before + hit.match + hit.after == "E   KeyError: 'DATABASE_URL'\n1 error"
    assert hit.match == "KeyError"


def test_newest_first_and_no_more_than_asked(reader: Reader) -> None:
    """Whatever is repeated all over."""
    hits = search(reader, SearchFilter(q="make", limit=3))

    assert len(hits) == 3
    assert [hit.time_ns for hit in hits] == sorted((hit.time_ns for hit in hits), reverse=True)
