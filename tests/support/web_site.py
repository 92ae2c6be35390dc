"""A collector with the web page's story in it, and the page's process."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spanlore_collector.store.api_client import MemoryClient
from support.collector_process import CollectorProcess
from support.web_process import WebProcess
from support.web_story import EFFECTS, WebStory, web_story

type Told = tuple[CollectorProcess, WebProcess, WebStory]
"""The collector, the page's process, and what is in the store."""


@contextmanager
def told_site(state_dir: Path) -> Iterator[Told]:
    """Both run until the block ends."""
    with CollectorProcess(state_dir) as collector:
        story = web_story(time.time_ns())
        assert collector.post_spans(story.spans).status == 200
        client = MemoryClient(collector.url, collector.token)
        client.apply(story.operations)
        client.set_mining_state("effects", EFFECTS)
        client.close()
        with WebProcess(collector.paths, collector.port, collector.clickhouse_port) as site:
            yield collector, site, story
