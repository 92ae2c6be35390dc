"""A session in the running collector's store, and the environment in which the commands find it."""

from __future__ import annotations

import json
import uuid

import pytest
import typer

from spanlore_collector.cli.app import commands
from support.collector_process import CollectorProcess
from support.stored_session import store_session


@pytest.fixture(scope="module")
def played(collector: CollectorProcess) -> str:
    """Id of a stored session: two tools at once, one of which fails, then the end of the turn."""
    return store_session(collector, str(uuid.uuid4()))


@pytest.fixture
def app(collector: CollectorProcess, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    """The commands, in an environment that leads them to the collector."""
    ports = {"collector_port": collector.port, "clickhouse_port": collector.clickhouse_port}
    collector.paths.daemon_file.write_text(json.dumps(ports))
    monkeypatch.setenv("SPANLORE_STATE_DIR", str(collector.paths.state_dir))
    monkeypatch.setenv("SPANLORE_CONFIG_DIR", str(collector.paths.config_dir))
    app = typer.Typer()
    commands(app)
    return app
