"""Off switches and forgetting, against a running daemon: what takes effect for the very next conversation."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

from spanlore_proxy.capture.snapshot import INTERVAL_S
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import wait_until
from support.model_server import ModelServer, Reply, Say
from support.proxied import ProxiedClient

WORD = "zanzibar-lint"
RULE = f"The linter of this repository is called {WORD}."


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda request: Reply((Say("ok"),))) as server:
        yield server


@pytest.fixture(scope="module")
def stage(server: ModelServer) -> Iterator[Stage]:
    with Stage(server.url) as stage:
        stage.up()
        yield stage


@pytest.fixture(autouse=True)
def in_the_project(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client is this very process, and where it works decides before what its request says."""
    monkeypatch.chdir(stage.project)


def is_told(stage: Stage, server: ModelServer, word: str = WORD, **headers: str) -> bool:
    """Whether a new conversation in the project reaches the model with the rule in it."""
    here = f"# Environment\n - Primary working directory: {stage.project}\n"
    session = {"user_id": json.dumps({"session_id": str(uuid.uuid4())})}
    body = {
        "model": "m", "max_tokens": 9, "metadata": session, "tools": [{"name": "Bash"}],
        "system": [{"type": "text", "text": "You are Claude Code."}, {"type": "text", "text": here}],
        "messages": [{"role": "user", "content": f"hello {uuid.uuid4()}"}],
    }  # fmt: skip
    assert ProxiedClient(stage.paths).send(json.dumps(body).encode(), **headers).status == 200
    return server.inferences[-1].mentions(word)


def test_a_statement_reaches_new_conversations_and_leaves_them_when_it_is_forgotten(
    stage: Stage, server: ModelServer
) -> None:
    """The proxy asks for news once a second, so neither takes two."""
    memory = json.loads(stage.spanlore("remember", RULE, "--json").stdout)["memory"]
    assert INTERVAL_S <= 1
    assert wait_until(lambda: is_told(stage, server), 120)
    stage.spanlore("forget", memory["id"])

    assert wait_until(lambda: not is_told(stage, server), 120)


def test_kill_file_and_header_act_on_the_next_request(stage: Stage, server: ModelServer) -> None:
    """The file is looked for at every request; the header is not sent on."""
    other = "ocelot-check"  # the daemon is shared, and what another test remembers may still be there
    stage.spanlore("remember", f"The checker of this repository is called {other}.")
    assert wait_until(lambda: is_told(stage, server, other), 120)
    stage.paths.kill_file.touch()
    killed = is_told(stage, server, other)
    stage.paths.kill_file.unlink()
    bypassed = is_told(stage, server, other, **{"x-spanlore-bypass": "1"})

    assert (killed, bypassed, is_told(stage, server, other)) == (False, False, True)
    assert not [request for request in server.inferences if request.header("x-spanlore-bypass")]
