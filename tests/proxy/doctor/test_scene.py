"""What the doctor gathers."""

from collections.abc import Callable

import pytest

from spanlore.settings import Settings
from spanlore_proxy.doctor.scene import Scene, StoreSilentError


def test_rows_of_a_running_store(running: Scene) -> None:
    """By the daemon's ClickHouse interface and the token."""
    assert running.rows("SELECT 1 AS one, 'é' AS two") == [{"one": 1, "two": "é"}]


def test_a_refused_query_says_why(running: Scene) -> None:
    """The engine's own words."""
    with pytest.raises(StoreSilentError, match="UNKNOWN_TABLE"):
        running.rows("SELECT 1 FROM nowhere")


def test_without_a_daemon(scene: Callable[..., Scene]) -> None:
    """No rows, and the reason."""
    with pytest.raises(StoreSilentError, match="not running"):
        scene().rows("SELECT 1")


def test_a_server_that_is_away(scene: Callable[..., Scene]) -> None:
    """The store of the settings is asked, by its own address and not by the daemon's."""
    settings = Settings(clickhouse_url="http://u%40x:p@127.0.0.1:1/db")

    assert scene(settings=settings)._store() == ("http://127.0.0.1:1", "u@x", "p", "db")
    with pytest.raises(StoreSilentError, match="refused"):
        scene(settings=settings).rows("SELECT 1")
