"""A real Chromium: Debian's, driven by Playwright; screenshots are kept in `build/screenshots`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

SCREENSHOTS: Final = Path(__file__).parents[2] / "build" / "screenshots"
FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS: Final = 20_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser; the test is skipped where there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        pytest.skip("there is no chromium on PATH: `sh tools/chromium.sh` installs Debian's where it can")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=binary, args=list(FLAGS))
        yield browser
        browser.close()


class Visitor:
    """Somebody at the page, who notes everything that goes wrong or elsewhere."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.troubles: list[str] = []
        self.elsewhere: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", lambda message: self._console(message.type, message.text))
        self.page.on("request", lambda request: self._request(request.url, origin))

    def _console(self, kind: str, text: str) -> None:
        # A page that is meant to be 404 is told on the console, too.
        if kind in ("error", "warning") and "status of 4" not in text:
            self.troubles.append(text)

    def _request(self, url: str, origin: str) -> None:
        if not url.startswith((origin, "data:", "blob:")):
            self.elsewhere.append(url)


@contextmanager
def visiting(
    browser: Browser,
    login_url: str,
    *,
    dark: bool = False,
    width: int = 1440,
    height: int = 900,
    bypass_csp: bool = False,
) -> Iterator[Visitor]:
    """A visitor who has logged in; at the end nothing may have gone wrong, and nothing elsewhere. `bypass_csp` turns
    the page's content security policy off: what it would have stopped happens."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        reduced_motion="reduce",
        bypass_csp=bypass_csp,
    )
    origin = "/".join(login_url.split("/")[:3])
    visitor = Visitor(context, origin)
    visitor.page.goto(login_url)
    try:
        yield visitor
        assert visitor.troubles == []
        assert visitor.elsewhere == []
    finally:
        context.close()


def shoot(page: Page, name: str) -> Path:
    """Keeps a screenshot."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path)
    return path
