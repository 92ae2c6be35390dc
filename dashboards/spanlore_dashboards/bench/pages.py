"""What pages cost, on a store of its own: CPU time of the page's process and of the collector, and the answer's size.

CPU time, since wall-clock time says how busy the machine is; both are given. With a browser (Playwright and Chromium,
which are no dependencies of spanlore's) also when it first shows something, and what that costs it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil
import urllib3

from spanlore.settings import Paths, child_environment
from spanlore_dashboards.bench.filling import START_WITHIN_S, Filled
from spanlore_dashboards.bench.panels import percentile

BUDGETS: Final = {"list_p50_ms": 150.0, "session_shown_ms": 500.0}
"""Until a page is answered; until a browser, where one is at hand, has something of the long session to show."""
_BROWSER_FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")


@dataclass(frozen=True, slots=True)
class Page:
    """One page to ask for."""

    what: str
    path: str
    budget: str
    """`list` or `session`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page cost, a request."""

    page: Page
    p50_ms: float
    web_cpu_ms: float
    collector_cpu_ms: float
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a browser made of a page; medians."""

    first_paint_ms: float
    """Until the first content is to be seen, from the click on."""
    cpu_ms: float
    """Of the page's thread, until two seconds after it was loaded: what comes later is in it."""
    elements: int


@dataclass(frozen=True, slots=True)
class Site:
    """The page's process."""

    url: str
    login_url: str
    process: psutil.Process


def pages(store: Filled, long_session: str) -> tuple[Page, ...]:
    """The list with its filters, the other pages, and the long session."""
    session = f"/sessions/{long_session}"
    return (
        Page("sessions", "/sessions", "list"),
        Page("sessions: dearest with failures", "/sessions?outcome=failed&sort=cost", "list"),
        Page("sessions: searched", f"/sessions?q={store.session}", "list"),
        Page("memories", "/memories", "list"),
        Page("cost, 30 days", "/cost?days=30", "list"),
        Page("health", "/health", "list"),
        Page("long session: timeline", session, "session"),
        Page("long session: conversation", f"{session}?view=conversation", "session"),
    )


@contextmanager
def serving(folder: Path) -> Iterator[Site]:
    """The page over the collector whose state is below `folder`.

    Raises:
        RuntimeError: it does not start.
    """
    environment = child_environment(
        {
            "SPANLORE_STATE_DIR": str(folder / "state"),
            "SPANLORE_CONFIG_DIR": str(folder / "config"),
            "SPANLORE_WEB_PORT": "0",
        },
        ("SPANLORE_",),
    )
    paths = Paths.from_environ(environment)
    log = folder / "web.log"
    with log.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-m", "spanlore_dashboards.web"], env=environment, stderr=out)
    try:
        until = time.monotonic() + START_WITHIN_S
        while not (found := re.search(r"listening on (http://[\d.]+:\d+)", log.read_text())):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the web page did not start: {log.read_text()[-1000:]}")
            time.sleep(0.05)
        yield Site(found[1], f"{found[1]}/login?token={paths.web_login()}", psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(site: Site, collector: psutil.Process, wanted: Sequence[Page], runs: int) -> list[Asked]:
    """Each page `runs` times, after once for nothing.

    Raises:
        RuntimeError: a page is not answered with 200.
    """
    pool = urllib3.PoolManager(retries=False, timeout=120)
    login = pool.request("GET", site.login_url, redirect=False)
    headers = {"Cookie": login.headers["Set-Cookie"].split(";")[0]}

    def get(page: Page) -> int:
        answer = pool.request("GET", site.url + page.path, headers=headers)
        if answer.status != 200:
            raise RuntimeError(f"{page.path} is answered with {answer.status}")
        return len(answer.data)

    out = []
    for page in wanted:
        get(page)
        before, times, size = (_cpu_ms(site.process), _cpu_ms(collector)), list[float](), 0
        for _ in range(runs):
            began = time.perf_counter()
            size = get(page)
            times.append((time.perf_counter() - began) * 1e3)
        web, store = _cpu_ms(site.process) - before[0], _cpu_ms(collector) - before[1]
        out.append(Asked(page, percentile(times, 50), web / runs, store / runs, size))
    return out


def look(site: Site, wanted: Sequence[Page], runs: int) -> list[Seen] | None:
    """The same in a browser; None where there is none, or nothing to drive it."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if binary is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=list(_BROWSER_FLAGS))
        try:
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            tab.goto(site.login_url)
            told = context.new_cdp_session(tab)
            told.send("Performance.enable", {"timeDomain": "threadTicks"})
            return [_seen(tab, told, site.url + page.path, runs) for page in wanted]
        finally:
            browser.close()


def _seen(tab: Any, told: Any, url: str, runs: int) -> Seen:
    paints, costs, elements = list[float](), list[float](), 0
    for _ in range(runs):
        tab.goto("about:blank")
        before = _metrics(told)
        tab.goto(url)
        tab.wait_for_timeout(2_000)
        after = _metrics(told)
        paints.append(tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
        costs.append((after["TaskDuration"] - before["TaskDuration"]) * 1e3)
        elements = tab.evaluate("document.getElementsByTagName('*').length")
    return Seen(percentile(paints, 50), percentile(costs, 50), elements)


def _metrics(told: Any) -> dict[str, float]:
    return {item["name"]: item["value"] for item in told.send("Performance.getMetrics")["metrics"]}


def _cpu_ms(process: psutil.Process) -> float:
    used = process.cpu_times()
    return 1e3 * float(used.user + used.system)


def report(asked: Sequence[Asked], seen: Sequence[Seen] | None, facts: dict[str, int]) -> dict[str, Any]:
    """The bench's one object."""
    rows = [_row(item, seen[n] if seen is not None else None) for n, item in enumerate(asked)]
    within = all(row["within_budget"] for row in rows)
    return {"bench": "pages", **facts, "rows": rows, "budgets": BUDGETS, "within_budget": within}


def _row(item: Asked, seen: Seen | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "what": item.page.what,
        "cpu_ms": round(item.web_cpu_ms + item.collector_cpu_ms, 1),
        "web_cpu_ms": round(item.web_cpu_ms, 1),
        "collector_cpu_ms": round(item.collector_cpu_ms, 1),
        "p50_ms": round(item.p50_ms, 1),
        "answer_bytes": item.answer_bytes,
    }
    if seen is not None:
        row |= {"browser_cpu_ms": round(seen.cpu_ms, 1), "first_paint_ms": round(seen.first_paint_ms, 1)}
        row["elements"] = seen.elements
    if item.page.budget == "list":
        row["within_budget"] = item.p50_ms <= BUDGETS["list_p50_ms"]
    else:
        row["within_budget"] = (seen.first_paint_ms if seen else item.p50_ms) <= BUDGETS["session_shown_ms"]
    return row


def table(result: dict[str, Any]) -> str:
    """For people."""
    lines = [
        f"{result['sessions']:,} sessions; the long one has {result['long_spans']:,} spans; {result['runs']} runs",
        f"{'ms':<32}{'CPU':>6}{'page':>6}{'store':>6}{'browser':>8}{'answer':>7}{'seen':>6}{'KB':>7}",
    ]
    for row in result["rows"]:
        browser, seen = row.get("browser_cpu_ms"), row.get("first_paint_ms")
        lines.append(
            f"{row['what'][:31]:<32}{row['cpu_ms']:>6.0f}{row['web_cpu_ms']:>6.0f}{row['collector_cpu_ms']:>6.0f}"
            f"{'–' if browser is None else f'{browser:.0f}':>8}{row['p50_ms']:>7.0f}"
            f"{'–' if seen is None else f'{seen:.0f}':>6}{row['answer_bytes'] / 1000:>7.0f}"
            f"{'' if row['within_budget'] else ' !'}"
        )
    return "\n".join(lines)
