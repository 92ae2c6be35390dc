"""Search, cost and health, as a browser without scripts gets them."""

from html import unescape

from support.web_process import WebProcess
from support.web_story import SESSION, WebStory


def test_search(site: WebProcess, story: WebStory) -> None:
    """A hit is marked and leads to its place in the conversation."""
    html = unescape(site.get("/search?q=KeyError&where=tool"))

    assert "<mark>KeyError</mark>" in html
    assert f"/sessions/{SESSION}?view=conversation&span={story.failed_span}#c-{story.failed_span}" in html


def test_search_for_nothing(site: WebProcess) -> None:
    """Before a search, and when nothing is found, the page says what to do."""
    assert "What are you looking for?" in site.get("/search")
    assert "Nothing says" in site.get("/search?q=zzzzzz")


def test_cost(site: WebProcess) -> None:
    """The sums, each name, and that prices are missing where they are."""
    html = site.get("/cost?by=agent&days=7")

    for text in ("without a known price", "codex", "claude-code", "2 unpriced", "$0.8600"):
        assert text in html
    assert "Nothing was spent" in site.get("/cost?repository=nowhere")


def test_health(site: WebProcess) -> None:
    """Without a proxy it says so and what to do; the store's tables are listed."""
    html = site.get("/health")

    assert "No proxy has reported here." in html
    assert "otel_traces" in html
