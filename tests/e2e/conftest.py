"""What the tests of the web page share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from support.browser import chromium
from support.web_site import Told, told_site


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def told(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """The collector, the page's process, and what is in the store."""
    with told_site(tmp_path_factory.mktemp("site")) as found:
        yield found
