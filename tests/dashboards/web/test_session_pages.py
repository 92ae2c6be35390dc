"""Pages of sessions, as a browser without scripts gets them."""

import re
from html import unescape

import pytest

from spanlore_collector.store.api_client import MemoryClient
from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.one_session import read_session
from spanlore_dashboards.web.session_pages import Kept
from support.collector_process import CollectorProcess
from support.web_process import WebProcess
from support.web_story import HOSTILE, REPOSITORY, SESSION, WebStory

BASE = f"/sessions/{SESSION}"


def test_the_list(site: WebProcess) -> None:
    """Every session with its title, repository, agent, model and what it cost."""
    html = site.get("/sessions")

    assert html.count("data-row>") == 4
    for text in ("The shelf test is flaky.", "acme/widgets", "codex", "gpt-5-codex", "1 failed", "$0.6200"):
        assert text in html


def test_pages_of_the_list_are_named_by_its_order(site: WebProcess) -> None:
    """The next page has older sessions only where the newest come first."""
    newest, dearest = site.get("/sessions?per_page=1&page=2"), site.get("/sessions?per_page=1&page=2&sort=cost")

    assert ("← Newer" in newest, "Older →" in newest) == (True, True)
    assert ("← Back" in dearest, "More →" in dearest, "Older" in dearest) == (True, True, False)


def test_a_filter_that_nothing_fits(site: WebProcess) -> None:
    """Says so, and how to get back."""
    html = site.get("/sessions?q=nothing+of+the+kind")

    assert "No session fits" in html
    assert 'href="/sessions">Clear' in html


def test_a_filter_that_makes_no_sense(site: WebProcess) -> None:
    """400, with what is wrong."""
    reply = site.send("GET", "/sessions?page=0", site.cookie)

    assert reply.status == 400
    assert "page" in reply.body.decode()


def test_the_timeline(site: WebProcess, story: WebStory) -> None:
    """All spans are rows: model calls, parallel tools, the sub-agent's; memories and failures are marked."""
    html = site.get(BASE)
    rows = re.findall(r'class="bar (\w+) (\w+) d(\d)', html)

    assert [kind for kind, _, _ in rows].count("tool") == 8
    assert ("turn", "unknown", "2") in rows
    assert ("tool", "success", "4") in rows
    assert "+1 memory" in html
    assert "overloaded_error" in html
    assert f'id="s-{story.failed_span}"' in html


def test_a_span_is_opened_by_its_address(site: WebProcess, story: WebStory) -> None:
    """Without a script too: what evidence links to."""
    html = unescape(site.get(f"{BASE}?span={story.failed_span}"))

    assert "KeyError: 'DATABASE_URL'" in html
    assert "pytest -q tests/test_shelf.py" in html


def test_what_was_injected_and_why_not(site: WebProcess, story: WebStory) -> None:
    """The memory's text with its place, and what was withheld to measure."""
    html = unescape(site.get(f"{BASE}/spans/{story.chat_span}"))

    assert "at the end of the system prompt" in html
    assert 'href="/memories/m-000000000001"' in html
    assert "withheld, to measure what it is worth" in html
    assert f"spanlore explain {story.chat_span}" in html


def test_the_conversation(site: WebProcess) -> None:
    """What was said, called and answered, with Markdown drawn and text of strangers escaped."""
    html = site.get(f"{BASE}?view=conversation")

    for text in ("Don&#39;t change the fixtures.", "12 passed", "<table>", 'ins">+ return sorted(items)', "sub-agent"):
        assert text in html
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert HOSTILE[:8] in unescape(html)


def test_a_place_in_the_conversation(site: WebProcess, story: WebStory) -> None:
    """A search hit or a span leads to the page of turns it is on, unfolded."""
    html = site.get(f"{BASE}?view=conversation&span={story.failed_span}")

    assert re.search(rf'id="c-{story.failed_span}" open', html)


def test_the_timeline_alone(site: WebProcess) -> None:
    """What a script fetches while an agent runs; nothing again while nothing changes."""
    first = site.send("GET", f"{BASE}/timeline", site.cookie)
    again = site.send("GET", f"{BASE}/timeline", {**site.cookie, "If-None-Match": first.headers["ETag"]})

    assert first.body.decode().count("<section") == 2
    assert "<dt>Model calls</dt><dd>9</dd>" in first.body.decode()
    assert "<html" not in first.body.decode()
    assert (again.status, again.body) == (304, b"")


def test_whole_content(site: WebProcess, story: WebStory) -> None:
    """As plain text, whatever it is."""
    part = site.api(f"/sessions/{SESSION}/spans/{story.failed_span}").json()["parts"][1]
    reply = site.send("GET", f"{BASE}/content/{part['hash']}", site.cookie)

    assert reply.headers["Content-Type"].startswith("text/plain")
    assert reply.body.decode().startswith("E   KeyError")


def test_a_trace_leads_to_its_session(site: WebProcess) -> None:
    """What a dashboard links to."""
    trace = site.api(f"/sessions/{SESSION}").json()["turns"][0]["chats"][0]["trace_id"]

    assert site.send("GET", f"/traces/{trace}", site.cookie).headers["Location"].startswith(f"{BASE}#turn-")


@pytest.mark.parametrize("path", ["/sessions/none", f"{BASE}/spans/none", f"{BASE}/content/none", "/traces/none"])
def test_what_is_not_there(site: WebProcess, path: str) -> None:
    """404, on a page that leads on."""
    reply = site.send("GET", path, site.cookie)

    assert reply.status == 404
    assert 'href="/sessions"' in reply.body.decode()


def test_repositories_are_links(site: WebProcess) -> None:
    """From one session to all of its repository."""
    assert f"/sessions?repository={REPOSITORY.replace('/', '%2F')}" in site.get(BASE)


def test_a_session_past_its_days(site: WebProcess, web_collector: CollectorProcess) -> None:
    """Its page is its summary, and the search leads there; what was recorded in it is only text."""
    text = "Goal: groom the pangolin\n\nDecisions:\n- <b>never</b> at night"
    row = {"session_id": "past its/days", "repository": "example.org/zoo", "goal": "groom the pangolin",
           "start_time_ns": 10**18, "end_time_ns": 10**18 + 1, "steps": 3, "text": text, "json": "{}"}  # fmt: skip
    MemoryClient(web_collector.url, web_collector.token).keep_summaries([row])
    html = site.get("/sessions/past%20its%2Fdays")
    found = site.get("/search?q=pangolin")

    assert "Its summary stays" in html and "- &lt;b&gt;never&lt;/b&gt; at night" in html
    assert 'href="/sessions/past%20its%2Fdays"' in found
    assert site.send("GET", "/sessions/no-such", site.cookie).status == 404


def test_pieces_of_a_timeline_and_of_a_conversation(site: WebProcess) -> None:
    """What a script fetches is what the page would have drawn; what is not there is 404."""
    html = site.get(BASE)
    first = re.findall(r'id="turn-(\w+)"', html)[0]
    rows = re.findall(r'data-span="(\w+)"', site.get(f"{BASE}/rows?at={first}:0"))

    assert rows == re.findall(r'data-span="(\w+)"', html)[: len(rows)]
    assert len(rows) > 10
    assert "The shelf test is flaky." in site.get(f"{BASE}/talk?turn={first}&chunk=0")
    for path in ("rows", "rows?at=x:0", f"rows?at={first}:5000", f"rows?at={first}:x", f"rows?at={first}:0&at=x:1"):
        assert site.send("GET", f"{BASE}/{path}", site.cookie).status == 404
    for path in ("talk", "talk?turn=x&chunk=0", f"talk?turn={first}&chunk=99", f"talk?turn={first}&chunk=-1"):
        assert site.send("GET", f"{BASE}/{path}", site.cookie).status == 404


def test_rows_are_laid_out_for_who_shows_them(reader: Reader) -> None:
    """A conversation, and a look that finds nothing new, take no time for rows and strip; each is made once."""
    session = read_session(reader, SESSION)
    assert session is not None
    kept = Kept(session)

    assert vars(kept) == {"session": session}
    assert kept.sections is kept.sections
    assert "overview" not in vars(kept)
