"""A session in the running collector's store, and the environment in which the commands find it."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace

import pytest
import typer

from spanlore_collector.cli.app import commands
from spanlore_proxy.conversation.tracker import Tracker
from support.collector_process import CollectorProcess
from support.conversing import WORKPLACE, Play, call, result, spans, user


@pytest.fixture(scope="module")
def played(collector: CollectorProcess) -> str:
    """Id of a stored session: two tools at once, one of which fails, then the end of the turn."""
    session = str(uuid.uuid4())
    play = Play(tracker=Tracker(), session=session, workplace=replace(WORKPLACE, repository=f"github.com/x/{session}"))
    told = spans(play.say(user("run the tests")).ask(call("t2", "pytest -q"), call("t1", "echo hi")))
    play.say(user(result("t2", "Exit code 1\nE  boom: no such table", is_error=True), result("t1", "hi")))
    told += spans(play.ask("It fails."))
    assert collector.post_spans(told).status == 200
    return session


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
