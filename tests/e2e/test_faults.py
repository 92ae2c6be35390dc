"""What happens when something is broken: each case has a defined outcome, and the agent is never the one who pays."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from support.messages_api import request_document
from support.model_server import Answer, Failure, ModelServer, ReceivedRequest, Reply, Say
from support.proxied import ProxiedClient, counted


class Switch:
    """A script that each test sets."""

    def __init__(self) -> None:
        self.reply: Answer = Reply((Say("Fine."),))

    def __call__(self, request: ReceivedRequest) -> Answer:
        return self.reply


@dataclass
class World:
    """A daemon and its upstream."""

    stage: Stage
    server: ModelServer
    switch: Switch
    store: StoreView

    def client(self) -> ProxiedClient:
        return ProxiedClient(self.stage.paths)

    def stored(self, client: ProxiedClient, number: int = 1) -> list[dict[str, Any]]:
        """The client's inferences once so many are stored, in order of time."""
        sql = "SELECT * FROM inferences WHERE session_id = {session:String} ORDER BY start_time LIMIT 1 BY span_id"

        def rows() -> list[dict[str, Any]]:
            return self.store.rows(sql, session=client.session_id)

        assert wait_until(lambda: len(rows()) >= number), f"only {len(rows())} of {number} inferences are stored"
        return rows()

    def received(self, client: ProxiedClient) -> list[ReceivedRequest]:
        return [request for request in self.server.requests if request.session_id == client.session_id]

    def pid(self, name: str) -> int:
        processes = json.loads(self.stage.paths.daemon_file.read_bytes())["processes"]
        return next(int(child["pid"]) for child in processes if child["name"] == name)


@pytest.fixture(scope="module")
def running() -> Iterator[World]:
    switch = Switch()
    with ModelServer(switch) as server, Stage(server.url) as stage:
        stage.up()
        yield World(stage, server, switch, StoreView(stage.paths))


@pytest.fixture
def world(running: World) -> Iterator[World]:
    yield running
    running.switch.reply = Reply((Say("Fine."),))


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process answers nothing meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_collector_that_hangs_costs_the_agent_nothing(world: World) -> None:
    """While the collector answers nothing, requests go through; when it answers again, each is stored once."""
    client = world.client()
    with stopped(world.pid("collector")):
        assert [client.infer(f"say {number}").status for number in range(3)] == [200] * 3

    assert len(world.stored(client, 3)) == 3
    count = "SELECT count() AS n FROM inferences WHERE session_id = {session:String}"
    assert int(world.store.rows(count, session=client.session_id)[0]["n"]) == 3


def test_killed_collector_comes_back(world: World) -> None:
    """After kill -9 the collector is started again and gets what was captured meanwhile."""
    client, before = world.client(), world.pid("collector")
    os.kill(before, signal.SIGKILL)
    assert client.infer("hello").status == 200
    assert wait_until(lambda: world.pid("collector") != before)

    assert wait_until(lambda: is_stored(world, client))


def is_stored(world: World, client: ProxiedClient) -> bool:
    """Whether anything of the client is stored; False while the store does not answer."""
    from spanlore_proxy.demo.stage import StageError

    sql = "SELECT count() AS n FROM inferences WHERE session_id = {session:String}"
    try:
        return int(world.store.rows(sql, session=client.session_id)[0]["n"]) == 1
    except StageError:
        return False


def test_upstream_that_is_down_is_an_error_at_once() -> None:
    """Where nothing listens the client gets a 502, the failure is recorded, and the daemon goes on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]  # bound but not listening: refused
        with Stage(f"http://127.0.0.1:{port}") as stage:
            stage.up()
            client = ProxiedClient(stage.paths)
            assert client.infer("hello").status == 502
            world = World(stage, None, Switch(), StoreView(stage.paths))  # type: ignore[arg-type]
            (row,) = world.stored(client)

    assert row["is_complete"] is False
    assert row["error_type"]


def test_stream_that_is_cut_is_kept_as_far_as_it_came(world: World) -> None:
    """A cut stream reaches the client as cut, and what came of the answer is stored."""
    world.switch.reply = Reply((Say("The first half. " * 20),), cut_after_events=6)
    client = world.client()
    response = client.infer("hello", stream=True)

    assert response.status == 200
    assert b"content_block_delta" in response.body
    assert b"message_stop" not in response.body
    (row,) = world.stored(client)
    assert row["is_complete"] is False
    assert row["error_type"]
    parts = "SELECT content_bytes FROM message_parts WHERE session_id = {session:String} AND direction = 'output'"
    assert int(world.store.rows(parts, session=client.session_id)[0]["content_bytes"]) > 0


def test_client_that_leaves_ends_the_request_upstream(world: World) -> None:
    """When the client goes away in mid-stream the upstream learns it, and what had come is stored as incomplete."""
    world.switch.reply = Reply((Say("x" * 20_000),), event_delay_s=0.01)
    client = world.client()
    connection = client.connect()
    connection.request("POST", "/v1/messages", json.dumps(request_document("hi", stream=True)), client.headers())
    connection.getresponse().read1(100)
    connection.sock.close()
    connection.close()
    (request,) = world.received(client)

    assert wait_until(lambda: request.request_id in world.server.deserted)
    (row,) = world.stored(client)
    assert row["is_complete"] is False


def test_provider_errors_reach_the_client_unchanged(world: World) -> None:
    """529 comes with its headers and its document, and is stored with the provider's own code."""
    world.switch.reply = Failure(headers=(("retry-after", "1"),))
    client = world.client()
    response = client.infer("hello")

    assert (response.status, response.headers["retry-after"]) == (529, "1")
    assert response.json()["error"]["type"] == "overloaded_error"
    (row,) = world.stored(client)
    assert (int(row["status_code"]), row["error_type"]) == (529, "overloaded_error")


@pytest.mark.parametrize("body", [b'{"model": "m", "messages": [', b"\xff\xfe no json", b"[1, 2]", b""])
def test_body_that_is_no_request_goes_through_untouched(world: World, body: bytes) -> None:
    """Invalid JSON is the provider's to refuse: it gets the very bytes, and the client its answer."""
    client = world.client()
    response = client.send(body)

    assert response.status == 400
    assert world.received(client)[0].body == body


def test_wrong_content_encoding_goes_through_untouched(world: World) -> None:
    """A body that is not what its header says is forwarded as it is, and counted."""
    client = world.client()
    before = counted(world.stage.paths, "skipped", "undecodable")
    body = json.dumps(request_document("hello")).encode()
    client.send(body, content_encoding="gzip")

    assert world.received(client)[0].body == body
    assert counted(world.stage.paths, "skipped", "undecodable") == before + 1


def test_compressed_body_is_understood(world: World) -> None:
    """A gzip body is forwarded as it came and stored as what it holds."""
    client = world.client()
    body = gzip.compress(json.dumps(request_document("hello")).encode())
    assert client.send(body, content_encoding="gzip").status == 200

    assert world.received(client)[0].body == body
    assert world.stored(client)[0]["request_model"] == "claude-sonnet-4-5"


def test_huge_body(world: World) -> None:
    """5 MB go through byte for byte and are stored."""
    client = world.client()
    body = json.dumps(request_document("x" * 5_000_000)).encode()
    assert client.send(body).status == 200

    assert world.received(client)[0].body == body
    assert int(world.stored(client)[0]["request_bytes"]) == len(body)


def test_unknown_endpoint_is_passed_on(world: World) -> None:
    """What spanlore does not know is the provider's to answer, and is counted."""
    client = world.client()
    before = counted(world.stage.paths, "requests", "unknown_endpoint")
    response = client.send(b"{}", "/v9/dreams")

    assert (response.status, response.json()["error"]["type"]) == (404, "not_found_error")
    assert world.received(client)[0].body == b"{}"
    assert counted(world.stage.paths, "requests", "unknown_endpoint") == before + 1


def test_taken_port_is_told() -> None:
    """`up` ends with 1 and says which port is taken and which setting moves it."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        with Stage("http://127.0.0.1:1", settings={"SPANLORE_PROXY_PORT": port}) as stage:
            done = stage.spanlore("up", "--detach", check=False)

    assert done.returncode == 1
    assert port in done.stderr
    assert "proxy.port" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[proxy]\nport = "many"\n', "proxy.port"),
        ("[proxy\n", "not valid TOML"),
        ("[proxy]\nprot = 1\n", "proxy.prot"),
        (None, "can't read"),
    ],
)
def test_wrong_config_is_told(text: str | None, told: str) -> None:
    """A config file that is wrong or unreadable is one message with what and where, and exit code 2."""
    with Stage("http://127.0.0.1:1") as stage:
        del stage.environment["SPANLORE_PROXY_PORT"]
        stage.paths.config_file.unlink()
        if text is None:
            stage.paths.config_file.mkdir()
        else:
            stage.paths.config_file.write_text(text)
        done = stage.spanlore("up", "--detach", check=False)

    assert done.returncode == 2
    assert told in done.stderr
    assert str(stage.paths.config_file) in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_config_costs_no_agent() -> None:
    """`run` says what is wrong and runs the agent: through the daemon if one is up, else without the proxy; with
    `--require` not at all."""
    agent = ("--", "sh", "-c", 'echo "proxy=$HTTPS_PROXY"')
    with Stage("http://127.0.0.1:1") as stage:
        stage.up()
        stage.paths.config_dir.mkdir(parents=True, exist_ok=True)
        stage.paths.config_file.write_text("[injection]\nenabeld = true\n")
        through = stage.spanlore("run", *agent, check=False)
        refused = stage.spanlore("run", "--require", *agent, check=False)
        stage.paths.config_file.unlink()
        stage.spanlore("down", "--force")
        stage.paths.config_file.write_text("[injection\n")
        alone = stage.spanlore("run", *agent, check=False)

    assert (through.returncode, through.stdout.startswith("proxy=http://run-")) == (0, True)
    assert "injection.enabeld" in through.stderr and "goes on with the settings" in through.stderr
    assert (refused.returncode, refused.stdout) == (2, "")
    assert (alone.returncode, alone.stdout) == (0, "proxy=\n")
    assert "not valid TOML" in alone.stderr and "runs WITHOUT the proxy" in alone.stderr
