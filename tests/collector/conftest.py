"""The collector's fixtures: one collector process, and one embedded store, for all tests of a test process.

chDB opens one path a process, so nothing but `store` may open one here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanlore.settings import child_environment
from spanlore_collector.store.client import Store
from spanlore_collector.store.migrate import migrate
from support.collector_process import CollectorProcess


@pytest.fixture(scope="session")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectorProcess]:
    """A running collector; tests tell their spans apart by the ids of their seeds."""
    with CollectorProcess(tmp_path_factory.mktemp("collector")) as process:
        yield process


@pytest.fixture(scope="session", params=["chdb", "clickhouse"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A migrated store: the embedded one, and a server where SPANLORE_TEST_CLICKHOUSE_URL names one."""
    if request.param == "clickhouse":
        url = child_environment({}).get("SPANLORE_TEST_CLICKHOUSE_URL", "")
        if not url:
            pytest.skip("no ClickHouse server: SPANLORE_TEST_CLICKHOUSE_URL is not set")
    else:
        url = f"chdb://{tmp_path_factory.mktemp('store')}"
    store = Store(url)
    client = store.connect(database="default")
    migrate(client, store.database)
    yield store
    client.close()
