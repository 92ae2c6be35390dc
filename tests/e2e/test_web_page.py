"""The web page in a real Chromium: keyboard, panel, live view, changes, dark and light, nothing from elsewhere."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, expect

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore_collector.store.api_client import MemoryClient
from support.browser import shoot, visiting
from support.telling import Did, Teller
from support.web_site import Told
from support.web_story import HOSTILE, SESSION

PAGES = {
    "sessions": "/sessions",
    "session": f"/sessions/{SESSION}",
    "conversation": f"/sessions/{SESSION}?view=conversation",
    "memories": "/memories",
    "review": "/memories?view=review",
    "memory": "/memories/m-000000000001",
    "search": "/search?q=KeyError",
    "cost": "/cost?days=7",
    "health": "/health",
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page(browser: Browser, told: Told, dark: bool) -> None:
    """Each is drawn without a fault, without a word to anybody else, and within the window's width."""
    with visiting(browser, told[1].login_url, dark=dark) as visitor:
        for name, path in PAGES.items():
            visitor.page.goto(told[1].url + path)
            expect(visitor.page.locator("h1").first).to_be_visible()
            if name == "cost":
                expect(visitor.page.locator("[data-drawn] canvas")).to_have_count(2)
            shoot(visitor.page, f"{name}-{'dark' if dark else 'light'}")

            assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        shade = visitor.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", shade))) < 200) is dark


def test_on_a_narrow_screen(browser: Browser, told: Told) -> None:
    """Nothing is wider than a phone."""
    with visiting(browser, told[1].login_url, width=400, height=800) as visitor:
        for name in ("sessions", "session", "conversation", "memories", "review", "memory", "search", "cost", "health"):
            visitor.page.goto(told[1].url + PAGES[name])
            shoot(visitor.page, f"{name}-narrow")

            assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def test_by_keyboard_alone(browser: Browser, told: Told) -> None:
    """From the list to a failing span and its output, to the conversation, and to another page."""
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/sessions?q=flaky")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{told[1].url}/sessions/{SESSION}")
        page.keyboard.press("x")
        page.keyboard.press("Enter")
        expect(page.locator("#panel .error-line")).to_contain_text("KeyError")
        expect(page).to_have_url(f"{told[1].url}/sessions/{SESSION}?span={told[2].failed_span}")
        shoot(page, "session-span-light")
        page.keyboard.press("j")
        expect(page.locator("#panel h2")).to_contain_text("claude-sonnet-4-5")
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        page.keyboard.press("t")
        expect(page.locator(".talk")).to_be_visible()
        page.keyboard.press("o")
        expect(page.locator("details.call[open]").first).to_be_visible()
        shoot(page, "conversation-unfolded-light")
        page.keyboard.press("g")
        page.keyboard.press("m")
        expect(page).to_have_url(f"{told[1].url}/memories")
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()


def test_filters_make_an_address(browser: Browser, told: Told) -> None:
    """A choice takes effect at once and is all that the address says."""
    with visiting(browser, told[1].login_url) as visitor:
        visitor.page.select_option("select[name=agent]", "codex")
        expect(visitor.page).to_have_url(f"{told[1].url}/sessions?agent=codex")
        expect(visitor.page.locator("tbody tr")).to_have_count(2)
        visitor.page.keyboard.press("/")
        visitor.page.keyboard.type("changelog")
        visitor.page.keyboard.press("Enter")
        expect(visitor.page.locator("tbody tr")).to_have_count(1)


def test_text_of_strangers_does_nothing(browser: Browser, told: Told) -> None:
    """A prompt and a memory full of HTML are read as text."""
    with visiting(browser, told[1].login_url) as visitor:
        visitor.page.on("dialog", lambda dialog: visitor.troubles.append(dialog.message))
        visitor.page.goto(told[1].url + PAGES["conversation"])
        expect(visitor.page.locator(".words").last).to_contain_text(HOSTILE[:10])
        visitor.page.goto(f"{told[1].url}/memories?view=all&q=m-000000000003")
        expect(visitor.page.locator(".memory-row .text")).to_contain_text(HOSTILE[:10])


def test_evidence_opens_the_exact_span(browser: Browser, told: Told) -> None:
    """From a memory to the row of the failing call, in view, with its output beside."""
    with visiting(browser, told[1].login_url) as visitor:
        visitor.page.goto(told[1].url + PAGES["memory"])
        visitor.page.click(".proof >> text=Open the span")
        row = visitor.page.locator(f"#s-{told[2].failed_span}")
        expect(row).to_be_in_viewport()
        expect(row).to_have_class(re.compile(r"\bon\b"))
        expect(visitor.page.locator("#panel")).to_contain_text("KeyError")


def test_a_memory_is_changed(browser: Browser, told: Told) -> None:
    """Edited and pinned in the page, reviewed in the list: each says what it did."""
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/memories/m-000000000002")
        page.click("text=Edit the text")
        page.fill("textarea", "Releases are cut on Wednesdays.")
        page.click("text=Save")
        expect(page.locator(".done")).to_contain_text("Saved")
        expect(page.locator("h1")).to_have_text("Releases are cut on Wednesdays.")
        page.click("button:has-text('Pin')")
        expect(page.locator(".chip.pinned").first).to_be_visible()
        page.goto(told[1].url + PAGES["review"])
        page.click("button:has-text('Reject')")
        expect(page.locator(".empty")).to_contain_text("Nothing to review")
        page.click(".done >> text=Undo")
        expect(page.locator(".done button")).to_have_count(0)
        expect(page.locator(".memory-row .text")).to_contain_text(HOSTILE[:10])
        page.click("button:has-text('Reject')")
        expect(page.locator(".empty")).to_contain_text("Nothing to review")


def test_what_is_there_twice_is_merged(browser: Browser, told: Told) -> None:
    """It waits in the review beside the one that says the same; one click makes one of the two. The category is told,
    and can be filtered for."""
    collector, site, _ = told
    one = Memory(
        "m-00000000aa01",
        Kind.USAGE,
        Source.FAILURE_DELTA,
        Status.ACTIVE,
        "example.org/twice",
        "`pip install -e .` first.",
    )
    other = replace(one, id="m-00000000aa02", source=Source.CORRECTION, text="Run `pip install -e .` before tests.")
    twice = replace(one, duplicate_of=other.id)
    client = MemoryClient(collector.url, collector.token)
    client.apply([Operation(Verb.ADDED, other, ""), Operation(Verb.ADDED, twice, "")])
    with visiting(browser, site.login_url) as visitor:
        page = visitor.page
        page.goto(f"{site.url}/memories?view=review&scope=example.org%2Ftwice")
        expect(page.locator(".twin")).to_contain_text("before tests.")
        shoot(page, "merge-light")
        page.click("button:has-text('Merge')")
        expect(page.locator(".done")).to_contain_text("Merged")
        expect(page.locator(".empty")).to_be_visible()
        page.goto(f"{site.url}/memories?view=all&scope=example.org%2Ftwice")
        page.select_option("select[name=category]", "dependency")
        page.wait_for_url("**category=dependency**")
        expect(page.locator(".memory-row")).to_have_count(2)
        expect(page.locator(".memory-row .chip:has-text('dependency')")).to_have_count(2)
        expect(page.locator(".chip.superseded")).to_have_count(1)
    kept, ended = client.memory(other.id), client.memory(one.id)
    client.close()
    assert kept is not None and ended is not None
    assert (kept.status, ended.status, ended.superseded_by) == (Status.ACTIVE, Status.SUPERSEDED, other.id)


def test_words_are_remembered(browser: Browser, told: Told) -> None:
    """Typed on the page, kept for the repository that was chosen, edited, and taken back step by step."""
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(told[1].url + PAGES["memories"])
        page.click("text=Remember something")
        page.fill(".remember textarea", "Screenshots of the shelf lie in docs/shelf.")
        page.click(".remember button")  # the browser itself asks for the repository
        expect(page).to_have_url(told[1].url + PAGES["memories"])
        page.select_option(".remember select", "github.com/acme/widgets")
        shoot(page, "remember-light")
        page.click(".remember button")
        expect(page.locator(".done")).to_contain_text("Remembered")
        expect(page.locator("h1")).to_contain_text("Screenshots of the shelf")
        page.click("text=Edit the text")
        page.fill("textarea", "Screenshots of the shelf lie in docs/pictures.")
        page.click("text=Save")
        page.click("button:has-text('Undo “edited”')")
        expect(page.locator(".done")).to_contain_text("Taken back")
        expect(page.locator("h1")).to_contain_text("lie in docs/shelf")
        page.click("button:has-text('Undo “added”')")
        expect(page.locator(".chip.retired")).to_be_visible()
        expect(page.locator("button:has-text('Undo')")).to_have_count(0)


def test_live_while_it_runs(browser: Browser, told: Told) -> None:
    """Spans appear without a reload, and what the reader has open stays open."""
    now_ns = time.time_ns()
    teller = Teller("5e551011-cccc-4000-8000-000000000009", now_ns - 30 * 10**9).turn("Tidy up.")
    (first,) = teller.ask("First.", Did("Bash", {"command": "make tidy"}, "done"))
    teller.ask("Second.")
    assert told[0].post_spans(teller.spans).status == 200
    sent = len(teller.spans)
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/sessions/{teller.session_id}")
        expect(page.locator("[data-live]")).to_be_visible()
        expect(page.locator(".chip.live")).to_have_text("going on")
        page.click(f"#s-{first}")
        expect(page.locator("#panel .command")).to_have_text("make tidy")
        teller.ask("Third.", end="completed")
        assert told[0].post_spans(teller.spans[sent:]).status == 200
        expect(page.locator("a.bar.chat")).to_have_count(3)
        expect(page.locator(".chip.live")).to_have_count(0)
        expect(page.locator("#panel .command")).to_have_text("make tidy")
        expect(page.locator(f"#s-{first}")).to_have_class(re.compile(r"\bon\b"))


def test_a_live_page_tells_that_it_is_not_told(browser: Browser, told: Told) -> None:
    """While nobody answers; and one whose login has ended asks for it, instead of showing that page in a corner."""
    teller = Teller("5e551011-cccc-4000-8000-000000000010", time.time_ns() - 30 * 10**9).turn("Tidy up.")
    teller.ask("First.")
    assert told[0].post_spans(teller.spans).status == 200
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/sessions/{teller.session_id}")
        expect(page.locator("[data-live]")).to_have_text("live")
        page.context.set_offline(True)
        expect(page.locator("[data-live]")).to_contain_text("no answer", timeout=15_000)
        page.context.set_offline(False)
        expect(page.locator("[data-live]")).to_have_text("live", timeout=15_000)
        visitor.troubles.clear()  # the browser's own words for being offline
        page.context.clear_cookies()
        expect(page.locator("input[name=token]")).to_be_visible(timeout=15_000)


def test_on_paper(browser: Browser, told: Told) -> None:
    """Dark ink, also of a dark page, and nothing that only a screen can do."""
    with visiting(browser, told[1].login_url, dark=True) as visitor:
        visitor.page.emulate_media(media="print")
        for name in ("sessions", "session", "memory"):
            visitor.page.goto(told[1].url + PAGES[name])
            ink = visitor.page.evaluate("getComputedStyle(document.querySelector('h1')).color")
            shoot(visitor.page, f"{name}-print")

            expect(visitor.page.locator("header.top")).to_be_hidden()
            assert sum(map(int, re.findall(r"\d+", ink))) < 200, name


def test_the_theme_is_kept(browser: Browser, told: Told) -> None:
    """Chosen once, it stands on every page, whatever the system says."""
    with visiting(browser, told[1].login_url) as visitor:
        visitor.page.keyboard.press("d")
        visitor.page.goto(told[1].url + PAGES["cost"])

        assert visitor.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_without_scripts(browser: Browser, told: Told) -> None:
    """Everything can be read and changed: links, forms and folded parts are plain HTML."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(told[1].login_url)
    page.click("text=The shelf test is flaky")
    page.click(f"#s-{told[2].failed_span}")
    expect(page.locator("#panel")).to_contain_text("KeyError")
    page.click("text=Conversation")
    expect(page.locator(".talk")).to_contain_text("12 passed")
    context.close()
