"""The web page in a real Chromium over what nobody would write: pages stay whole, and no text of strangers runs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect

from spanlore.genai.messages import Blob
from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore.spans.place import Outcome
from spanlore_collector.store.api_client import MemoryClient
from support.browser import shoot, visiting
from support.collector_process import CollectorProcess
from support.telling import SECOND_NS, Did, Teller, placed
from support.web_process import WebProcess

TRAP = (
    "</title></textarea></pre></script><script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "<svg onload=window.pwned=1>\"'><b onmouseover=window.pwned=1 onfocus=window.pwned=1 autofocus tabindex=0>"
    "{{7*7}}${alert(1)}"
)
LINKS = "[run](javascript:window.pwned=1) ![x](http://example.org/x.png) <javascript:window.pwned=1>\n\n" + TRAP
SCRIPTS = {
    "right to left": "אנא הרץ את הבדיקות של המאגר test_shelf.py ואז תקן",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈 Z̷̡̛a̴͝l̵g̸o̶ " + "🧪" * 200,
    "cjk": "请运行测试并修复失败的用例，" * 40,
    "one word": "W" * 4_000,
    "long": "please look at the test again " * 400,
}
ANSI = "<scr\x1b[0mipt>window.pwned=1</scr\x1b[0mipt>\r\n\x1b[31;1mFAILED\x1b[0m test_shelf.py\r\n\x1b[2K\x1b[1A50 %"
BIG = "".join(f"line {n:06} of a build log that is long\n" for n in range(27_000))
HOSTILE = "0dd00000-aaaa-4000-8000-000000000001"
DEEP = "0dd00000-aaaa-4000-8000-000000000002"
WIDE = "0dd00000-aaaa-4000-8000-000000000003"
NOTHING = "0dd00000-aaaa-4000-8000-000000000004"
RUNNING = "0dd00000-aaaa-4000-8000-000000000005"
MEMORY = "m-00000000dd01"

type Site = WebProcess


def _hostile(now_ns: int) -> Teller:
    """Markup in every field that a stranger can fill."""
    teller = Teller(HOSTILE, now_ns - 3600 * SECOND_NS, model=TRAP[:60])
    teller.workplace = replace(teller.workplace, repository="github.com/acme/" + TRAP, branch=TRAP, harness=TRAP[:80])
    teller.turn(TRAP, attached=(Blob("image", "image/png", "ab" * 16, 123_456),))
    failed = Did("Bash", {"command": TRAP, TRAP: TRAP}, ANSI + TRAP, 3.0, Outcome.FAILURE, 1, TRAP, f"Error: {TRAP}")
    edit = Did("Edit", {"file_path": f"src/{TRAP}.py", "old_string": TRAP, "new_string": TRAP}, TRAP)
    log = Did("Bash", {"command": "make"}, BIG)
    placements = [placed("failure_hint", [MEMORY], anchor=TRAP)]
    teller.ask(LINKS, failed, edit, log, reasoning=LINKS, placements=placements)
    teller.ask(LINKS, end="completed")
    return teller


def _deep(now_ns: int) -> list[Teller]:
    """Sub-agents of sub-agents, four levels down, one below the other."""
    out = [Teller(DEEP, now_ns - 7200 * SECOND_NS)]
    out[0].turn("Ask somebody who asks somebody.")
    for level in range(4):
        at_ns = out[-1].now_ns
        (span,) = out[-1].ask(f"Level {level}.", Did("Task", {"prompt": f"Level {level + 1}"}, "done", 40.0 - level))
        agent = out[-1].sub_agent(span, f"a{level}", at_ns + 3 * SECOND_NS)
        out.append(agent.turn(f"Level {level + 1}"))
    for teller in reversed(out):
        teller.ask("Done.", end="completed")
    return out


def _odd_tellers(now_ns: int) -> list[Teller]:
    wide = Teller(WIDE, now_ns - 10_000 * SECOND_NS).turn("Read everything at once.")
    wide.ask("At once.", *(Did("Read", {"file_path": f"src/{n}/" + "deep/" * 30}, "…", 1 + n / 50) for n in range(200)))
    wide.ask("Read.", end="completed")
    nothing = Teller(NOTHING, now_ns - 11_000 * SECOND_NS, model="")
    nothing.workplace = replace(nothing.workplace, repository="", branch="", harness="")
    nothing.turn("").ask("", tokens=(0, 0, 0), price_usd=None, takes_s=0)
    running = Teller(RUNNING, now_ns - 20 * SECOND_NS).turn("Still at it.")
    running.ask("First.", Did("Bash", {"command": "sleep 600"}, "", 0.0, Outcome.UNKNOWN))
    written = [
        Teller(f"0dd00000-bbbb-4000-8000-00000000000{n}", now_ns - (20_000 + n) * SECOND_NS).turn(text)
        for n, text in enumerate(SCRIPTS.values())
    ]
    for teller in written:
        teller.ask(teller.prompt, Did("Bash", {"command": teller.prompt}, teller.prompt), end="completed")
    return [_hostile(now_ns), *_deep(now_ns), wide, nothing, running, *written]


def _odd_memories(now_ns: int, span_id: str) -> list[Operation]:
    proof = Evidence("ab" * 16, span_id, HOSTILE, EvidenceRole.FAILURE, now_ns, TRAP)
    said = Evidence("ab" * 16, "12" * 8, HOSTILE, EvidenceRole.STATEMENT, now_ns, TRAP)
    scope = "github.com/acme/" + TRAP
    first = Memory(
        MEMORY, Kind.CORRECTION, Source.CORRECTION, Status.ACTIVE, scope, TRAP[:390], evidence=(proof, said), why=TRAP,
        note=TRAP, created_at_ns=now_ns, updated_at_ns=now_ns,
    )  # fmt: skip
    waiting = replace(first, id="m-00000000dd02", status=Status.QUARANTINED, evidence=(said,))
    letters = [
        replace(first, id=f"m-00000000dd1{n}", text=text[:390], evidence=(), scope="path:/tmp/" + text[:200])
        for n, text in enumerate(SCRIPTS.values())
    ]
    return [Operation(Verb.ADDED, memory, TRAP[:80]) for memory in (first, waiting, *letters)]


PAGES = {
    "sessions": "/sessions",
    "hostile": f"/sessions/{HOSTILE}",
    "hostile-talk": f"/sessions/{HOSTILE}?view=conversation",
    "deep": f"/sessions/{DEEP}",
    "wide": f"/sessions/{WIDE}",
    "nothing": f"/sessions/{NOTHING}",
    "running": f"/sessions/{RUNNING}",
    "right-to-left": "/sessions/0dd00000-bbbb-4000-8000-000000000000?view=conversation",
    "one-word": "/sessions/0dd00000-bbbb-4000-8000-000000000003",
    "one-word-talk": "/sessions/0dd00000-bbbb-4000-8000-000000000003?view=conversation",
    "memories": "/memories?view=all",
    "review": "/memories?view=review",
    "memory": f"/memories/{MEMORY}",
    "search": "/search?q=pwned",
    "cost": "/cost?by=repository",
    "health": "/health",
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The page over a store with all of this in it."""
    now_ns = time.time_ns()
    tellers = _odd_tellers(now_ns)
    with CollectorProcess(tmp_path_factory.mktemp("odd")) as collector:
        for teller in tellers:
            assert collector.post_spans(teller.spans).status == 200
        client = MemoryClient(collector.url, collector.token)
        client.apply(_odd_memories(now_ns, tellers[0].spans[-1].span_id.hex()))
        client.close()
        with WebProcess(collector.paths, collector.port, collector.clickhouse_port) as site:
            yield site


def _is_whole(page: Page, name: str) -> None:
    """Nothing of the texts has become an element, none of them ran, and no terminal's codes are left in them."""
    assert page.evaluate("window.pwned") is None, name
    made = "[onerror], [onload], [onmouseover], [onfocus], script:not([src]), main img, a[href^='javascript:' i]"
    assert page.evaluate("made => document.querySelectorAll(made).length", made) == 0, name
    assert "\ufffd[" not in page.evaluate("document.querySelector('main').textContent"), name


def test_no_text_runs_or_breaks_a_page(browser: Browser, odd: Site) -> None:
    """Every page, wide and narrow. The page's own policy is off, so that only the escaping is left to hold it."""
    with visiting(browser, odd.login_url, bypass_csp=True) as visitor:
        visitor.page.on("dialog", lambda dialog: visitor.troubles.append(dialog.message))
        for name, path in PAGES.items():
            visitor.page.goto(odd.url + path)
            expect(visitor.page.locator("h1").first).to_be_visible()
            _is_whole(visitor.page, name)
            for width in (400, 1280):
                visitor.page.set_viewport_size({"width": width, "height": 900})

                assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, width)
            shoot(visitor.page, f"odd-{name}")


def test_every_span_can_be_opened(browser: Browser, odd: Site) -> None:
    """The panel beside the timeline comes by itself, later than the page: a picture, a megabyte, and markup."""
    with visiting(browser, odd.login_url, bypass_csp=True) as visitor:
        visitor.page.goto(odd.url + PAGES["hostile"])
        bars = visitor.page.locator("a.bar")
        expect(bars).to_have_count(5)
        for n in range(5):
            bars.nth(n).click()
            expect(visitor.page).to_have_url(re.compile(bars.nth(n).get_attribute("data-span") or "-"))
            expect(visitor.page.locator("#panel .span")).to_be_visible()
            shoot(visitor.page, f"odd-span-{n}")
            _is_whole(visitor.page, f"span {n}")


def test_four_levels_of_sub_agents_are_told_apart(browser: Browser, odd: Site) -> None:
    """Each stands further to the right than the one that started it."""
    with visiting(browser, odd.login_url) as visitor:
        visitor.page.goto(odd.url + PAGES["deep"])
        agents = visitor.page.locator("a.bar.turn .name b")
        expect(agents).to_have_count(4)
        lefts = [agents.nth(n).bounding_box() for n in range(4)]

        assert all(one and other and one["x"] < other["x"] for one, other in pairwise(lefts))
