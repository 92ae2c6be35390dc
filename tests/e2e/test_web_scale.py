"""The web page at size: 10,000 sessions, and one session of 3,000 spans; what each page took is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from spanlore.settings import child_environment
from spanlore.spans.place import Outcome
from support.browser import shoot, visiting
from support.collector_process import CollectorProcess
from support.telling import Did, Teller
from support.web_process import WebProcess

SESSIONS, TURNS, CALLS = 10_000, 50, 20
"""Each call asks for two tools: 50 × 20 × 3 spans, and those of the turns."""
LONG = "5e551011-dddd-4000-8000-000000000000"
type Tell = Callable[[str], None]
PATIENCE_S = 20.0
"""Far above what is measured: a page that takes longer is not slow but wrong."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    """The page over a store of that size."""
    folder = tmp_path_factory.mktemp("scale")
    command = [sys.executable, "-m", "support.bulk_store", str(folder / "store"), str(SESSIONS)]
    environment = child_environment({"PYTHONPATH": os.pathsep.join(["tests", *sys.path])})
    subprocess.run(command, check=True, timeout=300, env=environment, cwd=Path(__file__).parents[2])
    with CollectorProcess(folder) as collector:
        teller = Teller(LONG, time.time_ns() - 7200 * 10**9)
        for turn in range(TURNS):
            teller.turn(f"Step {turn + 1}: move the next shelf and see that nothing else falls.", wait_s=20)
            for call in range(CALLS):
                failed = Outcome.FAILURE if call == 7 else Outcome.SUCCESS
                teller.ask(
                    "Next.",
                    Did(
                        "Bash", {"command": f"make shelf-{turn}-{call}"}, f"moved {turn}.{call}\n" * 20, 0.8, failed, 1
                    ),
                    Did("Read", {"file_path": f"src/shelf_{call}.py"}, "def shelf(): …\n" * 30, 0.2),
                    takes_s=1.5,
                    end="completed" if call == CALLS - 1 else "",
                )
        for low in range(0, len(teller.spans), 500):
            assert collector.post_spans(teller.spans[low : low + 500]).status == 200
        with WebProcess(collector.paths, collector.port, collector.clickhouse_port) as site:
            yield site


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    """Shows a line in the run's output, whether it passes or not."""

    def write(line: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{line}")

    return write


def test_ten_thousand_sessions(site: WebProcess, tell: Tell) -> None:
    """The first page, the last, a search, and each filter answer; the sums are those of all sessions."""
    site.get("/sessions?per_page=1")
    for path, text in (
        ("/sessions", "<b>10,001</b> sessions"),
        ("/sessions?page=201", "Page 201 of 201"),
        ("/sessions?q=Task+4711%3A", "<b>1</b> session"),
        ("/sessions?outcome=failed&sort=cost", "2,501"),
        ("/sessions?model=gpt-5-codex&days=7", "sessions"),
        ("/search?q=moved+3.7", "moved 3.7"),
        ("/cost?days=30", "gpt-5-codex"),
        ("/health", "inferences"),
    ):
        assert text in _timed(site, path, tell)


def test_three_thousand_spans(site: WebProcess, tell: Tell) -> None:
    """One session of 3,000 spans: its first rows at once and every other by a piece that the page names; without
    scripts all of them; and pages of its conversation."""
    html = _timed(site, f"/sessions/{LONG}", tell)
    pieces = [unescape(piece) for piece in re.findall(r'data-later="([^"]+)"', html)]
    fetched = [site.get(f"/sessions/{LONG}/{piece}").count("data-span=") for piece in pieces]

    assert 100 < html.count("data-span=") < 300
    # The tools that the last call asked for were never answered.
    assert html.count("data-span=") + sum(fetched) == TURNS * CALLS * 3 - 2
    assert _timed(site, f"/sessions/{LONG}?all=1", tell).count("data-span=") == TURNS * CALLS * 3 - 2
    assert "Turns 1–20 of 50" in _timed(site, f"/sessions/{LONG}?view=conversation", tell)
    assert "Turns 41–50 of 50" in _timed(site, f"/sessions/{LONG}?view=conversation&turn=45", tell)


def test_three_thousand_spans_in_a_browser(site: WebProcess, browser: Browser, tell: Tell) -> None:
    """It is drawn, keys move through it at once, also to rows that are not there yet, and all rows come in the end."""
    with visiting(browser, site.login_url) as visitor:
        page = visitor.page
        page.goto(f"{site.url}/sessions/{LONG}")
        expect(page.locator("section.turn")).to_have_count(TURNS)
        entry = "performance.getEntriesByType('navigation')[0]"
        tell(f"{page.evaluate(f'{entry}.responseEnd'):8.0f} ms until the browser has the first rows")
        tell(f"{page.evaluate(f'{entry}.loadEventEnd'):8.0f} ms until they are drawn")
        began = time.perf_counter()
        for _ in range(40):
            page.keyboard.press("j")
        tell(f"{(time.perf_counter() - began) / 40 * 1000:8.0f} ms a key")
        page.keyboard.press("x")
        page.keyboard.press("Enter")
        expect(page.locator("#panel")).to_contain_text("moved")
        shoot(page, "three-thousand-spans-light")
        page.locator("section.turn").last.scroll_into_view_if_needed()
        expect(page.get_by_text("make shelf-49-18", exact=True)).to_be_visible()
        expect(page.locator("#timeline [data-later]")).to_have_count(0)
        expect(page.locator("a.bar")).to_have_count(TURNS * CALLS * 3 - 2)
        page.goto(f"{site.url}/sessions/{LONG}?view=conversation")
        expect(page.locator(".talk-turn")).to_have_count(20)
        page.locator("#talk .later").first.scroll_into_view_if_needed()
        expect(page.get_by_text("make shelf-2-3", exact=True)).to_be_attached()
        page.goto(f"{site.url}/sessions")
        shoot(page, "ten-thousand-sessions-light")


def test_keys_reach_failures_that_are_not_drawn_yet(site: WebProcess, browser: Browser) -> None:
    """The next failure is in a turn whose rows were never fetched: the key fetches them."""
    with visiting(browser, site.login_url) as visitor:
        page = visitor.page
        page.add_init_script("IntersectionObserver = class { observe() {} }; requestIdleCallback = () => 0;")
        page.goto(f"{site.url}/sessions/{LONG}")
        assert page.locator("#timeline [data-later]").count() > 40
        for turn in range(6):
            page.keyboard.press("x")
            expect(page.locator("a.bar:focus")).to_contain_text(f"make shelf-{turn}-7")


def _timed(site: WebProcess, path: str, tell: Tell) -> str:
    cookie = site.cookie
    took_s = []
    for _ in range(3):
        began = time.perf_counter()
        reply = site.send("GET", path, cookie)
        took_s.append(time.perf_counter() - began)
        assert reply.status == 200, reply.body[:500]
    tell(f"{min(took_s) * 1000:8.0f} ms  {len(reply.body) // 1024:6} KB  {path}")
    assert min(took_s) < PATIENCE_S
    return reply.body.decode()
