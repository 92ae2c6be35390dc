"""Questions from an event loop."""

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spanlore.settings import Paths, Settings
from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.reader import Reader
from spanlore_dashboards.web.asking import Asking
from support.collector_process import CollectorProcess


async def test_questions_run_side_by_side(web_collector: CollectorProcess) -> None:
    """Each thread has a reader of its own, so that several questions are asked at once."""
    ports = {"collector_port": web_collector.port, "clickhouse_port": web_collector.clickhouse_port}
    web_collector.paths.daemon_file.write_text(json.dumps(ports))
    asking = Asking(Settings(), web_collector.paths)

    def question(number: int) -> Callable[[Reader], list[dict[str, Any]]]:
        return lambda reader: reader.rows(f"SELECT {number} AS n")

    found = await asyncio.gather(*(asking.read(question(number)) for number in range(6)))
    status = await asking.call(lambda client: client.status())
    asking.close()

    assert [rows[0]["n"] for rows in found] == list(range(6))
    assert status["store"]["kind"] == "chdb"


async def test_a_store_that_hangs_is_not_waited_for(web_collector: CollectorProcess) -> None:
    """It takes the connection and says nothing: whoever asked is told, and asks again."""
    ports = {"collector_port": web_collector.port, "clickhouse_port": web_collector.clickhouse_port}
    web_collector.paths.daemon_file.write_text(json.dumps(ports))
    asking = Asking(Settings(), web_collector.paths, patience_s=0.2)
    ends = threading.Event()

    with pytest.raises(StoreUnavailableError, match="not answered"):
        await asking.read(lambda _: ends.wait(60))
    ends.set()
    asking.close()


async def test_the_daemon_may_come_later(tmp_path: Path, web_collector: CollectorProcess) -> None:
    """While it is away a question fails with what to do; once it is there the same object finds it."""
    paths = Paths(web_collector.paths.config_dir, tmp_path)
    paths.token_file.parent.mkdir(parents=True, exist_ok=True)
    paths.token_file.write_text(web_collector.token)
    asking = Asking(Settings(), paths)

    with pytest.raises(StoreUnavailableError, match="spanlore up"):
        await asking.read(lambda reader: reader.rows("SELECT 1"))
    ports = {"collector_port": web_collector.port, "clickhouse_port": web_collector.clickhouse_port}
    paths.daemon_file.write_text(json.dumps(ports))

    assert await asking.read(lambda reader: reader.rows("SELECT 1 AS n")) == [{"n": 1}]
    asking.close()
