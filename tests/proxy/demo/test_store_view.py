import json
from pathlib import Path

import pytest

from spanlore.settings import Paths
from spanlore_proxy.demo.stage import StageError
from spanlore_proxy.demo.store_view import StoreView, wait_until
from support.model_server import ModelServer


def test_queries_carry_token_database_and_parameters(tmp_path: Path) -> None:
    """A query goes to the ClickHouse port with the user's token, its parameters beside it; a refusal is told."""
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    with ModelServer(lambda _: None) as server:
        paths.daemon_file.write_text(json.dumps({"collector_port": server.port, "clickhouse_port": server.port}))
        with pytest.raises(StageError, match="404"):
            StoreView(paths).rows("SELECT {name:String}", name="x")

    request = server.requests[0]
    assert request.body == b"SELECT {name:String}"
    assert "database=spanlore" in request.path
    assert "param_name=x" in request.path
    assert (request.header("authorization") or "").startswith("Basic ")


def test_waiting_ends() -> None:
    """What never comes is not waited for longer than allowed."""
    answers = iter([False, True])

    assert wait_until(lambda: next(answers), 5)
    assert not wait_until(lambda: False, 0.1)
