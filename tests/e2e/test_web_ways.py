"""Ways through the web page in a real Chromium: by keys, by the browser's buttons, on a phone."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import shoot, visiting
from support.clock import MovableClock
from support.collector_process import CollectorProcess
from support.telling import Did, Teller
from support.web_process import WebProcess
from support.web_site import Told
from support.web_story import SESSION

FIELDS = "[...document.querySelectorAll('.filters input, .filters select')].map(field => field.value)"


def _focus(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id || document.activeElement.tagName"))


def _open_the_failure(page: Page, told: Told) -> None:
    """By keys: the row of the session's failed call, whose panel is then beside it."""
    page.goto(f"{told[1].url}/sessions/{SESSION}")
    page.keyboard.press("x")
    page.keyboard.press("Enter")
    expect(page.locator("#panel .error-line")).to_be_visible()


def test_keys_go_into_the_panel_and_back(browser: Browser, told: Told) -> None:
    """Enter opens a row, Enter again goes into its panel, where arrows scroll; Escape leads back to the row."""
    row = f"s-{told[2].failed_span}"
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        _open_the_failure(page, told)
        assert _focus(page) == row
        page.keyboard.press("Enter")
        assert _focus(page) == "panel"
        page.keyboard.press("ArrowDown")
        assert _focus(page) == "panel"
        page.keyboard.press("Tab")
        expect(page.locator("#panel [data-close]")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        assert _focus(page) == row


def test_escape_ends_one_thing_at_a_time(browser: Browser, told: Told) -> None:
    """The list of keys over an open panel: it is left, the panel stays, and who was on a row is there again."""
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        _open_the_failure(page, told)
        page.keyboard.press("?")
        expect(page.locator("#keys button")).to_be_focused()
        page.keyboard.press("j")
        expect(page.locator("#keys button")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#keys")).to_be_hidden()
        expect(page.locator("#panel")).to_be_visible()
        assert _focus(page) == f"s-{told[2].failed_span}"


def test_a_row_that_is_chosen_stays_in_its_place(browser: Browser, told: Told) -> None:
    """A long title under the keys' focus is not pushed to the edge of its cell."""
    with visiting(browser, told[1].login_url, width=1000) as visitor:
        visitor.page.goto(f"{told[1].url}/sessions?q=flaky")
        cell = visitor.page.locator("tbody td.wide").first
        cut = cell.evaluate("cell => cell.scrollWidth > cell.clientWidth")
        visitor.page.keyboard.press("j")
        expect(cell.locator("a")).to_be_focused()

        assert cut
        assert cell.evaluate("cell => cell.scrollLeft") == 0


def test_the_back_button_shows_the_fields_of_the_list_that_is_shown(browser: Browser, told: Told) -> None:
    """A browser would put in what was typed last, and the filters would tell of another list."""
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/sessions?agent=claude-code&sort=cost")
        shown = page.evaluate(FIELDS)
        page.fill("input[name=q]", "half typed")
        page.select_option("select[name=outcome]", "failed")
        page.wait_for_url("**outcome=failed**")
        page.go_back()
        page.wait_for_url("**sort=cost")

        assert page.evaluate(FIELDS) == shown
        page.reload()
        assert page.evaluate(FIELDS) == shown


def test_the_way_back_keeps_the_filters(browser: Browser, told: Told) -> None:
    """From a session's views, and from a memory, to the list as it was left; what a click did is not told again."""
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/sessions?agent=claude-code&sort=cost")
        with page.expect_navigation():
            page.click("tbody a >> nth=0")
        page.keyboard.press("t")
        expect(page.locator(".talk")).to_be_visible()
        page.click(".crumbs a")
        expect(page).to_have_url(f"{told[1].url}/sessions?agent=claude-code&sort=cost")
        page.goto(f"{told[1].url}/memories?view=ended&done=reject&id=m-000000000005")
        with page.expect_navigation():
            page.click(".memory-row a >> nth=0")
        page.click(".crumbs a")
        expect(page).to_have_url(f"{told[1].url}/memories?view=ended")
        page.click("header nav >> text=Memories")
        expect(page).to_have_url(f"{told[1].url}/memories")


@pytest.mark.parametrize("width", [390, 360])
def test_on_phones(browser: Browser, told: Told, width: int) -> None:
    """Nothing is wider than the screen, all of the header can be touched, and what is looked for can be read."""
    pages = ("/sessions", f"/sessions/{SESSION}", "/memories?view=review", "/search?q=KeyError", "/cost", "/health")
    with visiting(browser, told[1].login_url, width=width, height=780) as visitor:
        for path in pages:
            visitor.page.goto(told[1].url + path)
            expect(visitor.page.locator("#theme")).to_be_in_viewport(ratio=1)
            expect(visitor.page.locator("header nav a").last).to_be_in_viewport(ratio=1)
            shoot(visitor.page, f"phone-{width}-{re.sub(r'[^a-z]+', '-', path[1:9])}")

            assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        visitor.page.goto(f"{told[1].url}/search")
        box = visitor.page.locator("input[name=q]").bounding_box()
        assert box is not None
        assert box["width"] > 0.7 * width


def test_code_stands_as_it_was_typed(browser: Browser, told: Told) -> None:
    """A font's ligatures would make one stroke of the two of `--flag`, and another sign of `!=`."""
    with visiting(browser, told[1].login_url) as visitor:
        visitor.page.goto(f"{told[1].url}/sessions/{SESSION}?span={told[2].failed_span}")
        for place in (".bar.tool i", "#panel pre.command", "#panel code"):
            style = visitor.page.locator(place).first.evaluate("one => getComputedStyle(one).fontVariantLigatures")

            assert style == "none", place


def test_a_row_without_an_answer_says_so(browser: Browser, told: Told) -> None:
    """A row that is opened while nobody answers; it is opened again once somebody does. And one that is gone."""
    row = f"#s-{told[2].failed_span}"
    with visiting(browser, told[1].login_url) as visitor:
        page = visitor.page
        page.goto(f"{told[1].url}/sessions/{SESSION}")
        page.context.set_offline(True)
        page.click(row)
        expect(page.locator("#panel")).to_contain_text("spanlore is not answering")
        expect(page.locator("#panel")).not_to_contain_text("not in the store", use_inner_text=True)
        shoot(page, "panel-away-light")
        page.context.set_offline(False)
        page.click(row)
        expect(page.locator("#panel .error-line")).to_be_visible()
        visitor.troubles.clear()  # the browser's own words for being offline
        page.evaluate("document.querySelector('a.bar').dataset.span = '0123456789abcdef'")
        page.click("a.bar >> nth=0")
        expect(page.locator("#panel")).to_contain_text("This span is not in the store")


def test_a_watched_session_ends(browser: Browser, told: Told, tmp_path: Path) -> None:
    """Its figures grow while it runs; once nothing comes any more, nothing on the page calls it live."""
    collector, site, _ = told
    clock = MovableClock(tmp_path)
    teller = Teller("5e551011-dddd-4000-8000-000000000001", time.time_ns()).turn("Tidy up.")
    teller.ask("First.", Did("Bash", {"command": "make tidy"}, "done"))
    teller.ask("Second.")
    assert collector.post_spans(teller.spans).status == 200
    sent = len(teller.spans)
    with WebProcess(site.paths, more=clock.environment) as later, visiting(browser, later.login_url) as visitor:
        page = visitor.page
        page.goto(f"{later.url}/sessions/{teller.session_id}")
        expect(page.locator("[data-live]")).to_have_text("live")
        expect(page.locator("section.turn .chip")).to_have_text("going on")
        teller.ask("Third.")
        assert collector.post_spans(teller.spans[sent:]).status == 200
        expect(page.locator(".tiles div:has(dt:text-is('Model calls')) dd")).to_have_text("3")
        shoot(page, "session-live-light")
        clock.move(3600)
        expect(page.locator("[data-live]")).to_have_count(0)
        expect(page.locator("section.turn .chip")).to_have_text("no end seen")
        expect(page.locator("a.bar")).to_have_count(4)


def test_a_new_installation(browser: Browser, tmp_path: Path) -> None:
    """Where nothing was captured yet, each page says what to type next."""
    pages = {"/sessions": "spanlore run", "/memories": "spanlore remember", "/search": "spanlore run"}
    with (
        CollectorProcess(tmp_path) as collector,
        WebProcess(collector.paths, collector.port, collector.clickhouse_port) as site,
        visiting(browser, site.login_url) as visitor,
    ):
        for path, command in {**pages, "/cost": "spanlore run", "/health": "spanlore run"}.items():
            visitor.page.goto(site.url + path)
            shoot(visitor.page, f"new-{path[1:]}-light")

            expect(visitor.page.locator("main")).to_contain_text(command)
