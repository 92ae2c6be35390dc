"""The web page over a store with a story in it, once for all tests of a test process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanlore_collector.store.reader import Reader
from support.collector_process import CollectorProcess
from support.web_process import WebProcess
from support.web_site import told_site
from support.web_story import WebStory

type Told = tuple[CollectorProcess, WebProcess, WebStory]


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """The collector, the page's process, and what is in the store."""
    with told_site(tmp_path_factory.mktemp("web")) as found:
        yield found


@pytest.fixture
def web_collector(told: Told) -> CollectorProcess:
    """The collector."""
    return told[0]


@pytest.fixture
def site(told: Told) -> WebProcess:
    """The page's process."""
    return told[1]


@pytest.fixture
def story(told: Told) -> WebStory:
    """What is in the store."""
    return told[2]


@pytest.fixture
def reader(web_collector: CollectorProcess) -> Iterator[Reader]:
    """The reading side of the store."""
    with Reader(web_collector.clickhouse_url, web_collector.token) as reader:
        yield reader
