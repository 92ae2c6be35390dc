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


SERVER_URL = child_environment({}).get("SPANLORE_TEST_CLICKHOUSE_URL", "")


@pytest.fixture(scope="session", params=["chdb", "server"] if SERVER_URL else ["chdb"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A migrated store: the embedded one, and a server too where SPANLORE_TEST_CLICKHOUSE_URL names one."""
    store = Store(SERVER_URL if request.param == "server" else f"chdb://{tmp_path_factory.mktemp('store')}")
    client = store.connect(database="default")
    migrate(client, store.database)
    yield store
    client.close()


@pytest.fixture(scope="session")
def server_url() -> str:
    """Of the ClickHouse server that tests may use."""
    if not SERVER_URL:
        pytest.skip("no ClickHouse server: SPANLORE_TEST_CLICKHOUSE_URL is not set")
    return SERVER_URL
