"""Base-URL mode: plain http on the proxy's own port."""

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from spanlore.semconv import gen_ai, lore
from spanlore_proxy.capture.base_urls import RefusedError, read_address
from spanlore_proxy.capture.runs import RunRegistry
from spanlore_proxy.launch.runs import Run, shell_run, write_run
from support.capture_client import connected, post
from support.capture_messages import AGENT_HEADERS, events, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, REPOSITORY, RUN, TOKEN, running_proxy, state_in, until
from support.capture_upstream import answering, api_server, raw_server, read_request, server_tls, streaming
from support.responses_socket import UPGRADE_HEADERS, create, playing, preamble, said_item, socket_server, text_item
from support.responses_socket import events as socket_events

BASE = f"/r/{CREDENTIALS}"
OWN = {"ANTHROPIC_BASE_URL": "https://llm.corp.example:8443/anthropic"}


@pytest.fixture
def runs(tmp_path: Path) -> RunRegistry:
    paths = state_in(tmp_path)
    write_run(paths, Run("run-00000000bbbb", "t0", 1, 1, "claude-code", "", "/w", "", "", "", OWN))
    write_run(paths, shell_run(paths, {}))
    return RunRegistry(paths.runs_dir)


def to(port: int, path: str) -> dict[str, str]:
    """Where `post` sends it, as a client of a base URL does."""
    return {"target": path, "host": f"127.0.0.1:{port}"}


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        (f"{BASE}/anthropic/v1/messages?beta=true", "https://api.anthropic.com /v1/messages?beta=true"),
        (f"/r/{RUN}%3A{TOKEN}/openai/v1/responses", "https://api.openai.com /v1/responses"),
        (f"{BASE}/chatgpt/backend-api/codex/responses", "https://chatgpt.com /backend-api/codex/responses"),
        (f"{BASE}/openrouter/api/v1/chat/completions", "https://openrouter.ai /api/v1/chat/completions"),
        (f"{BASE}/gemini/v1beta/models/m:generateContent?alt=sse", "/v1beta/models/m:generateContent?alt=sse"),
        (f"{BASE}/host=api.z.ai/api/anthropic/v1/messages", "https://api.z.ai /api/anthropic/v1/messages"),
        (f"{BASE}/host=api.z.ai:444/v1", "https://api.z.ai:444 /v1"),
        (f"{BASE}/anthropic", "https://api.anthropic.com /"),
        (f"{BASE}/anthropic?x", "https://api.anthropic.com /?x"),
        ("/r/run-00000000bbbb:t0/ANTHROPIC_BASE_URL/v1/messages", "https://llm.corp.example:8443 /v1/messages"),
        # Who leaves the version out, and who says it twice.
        (f"{BASE}/anthropic/messages?beta=true", "https://api.anthropic.com /v1/messages?beta=true"),
        (f"{BASE}/openai/chat/completions", "https://api.openai.com /v1/chat/completions"),
        (f"{BASE}/openai/v1/v1/responses", "https://api.openai.com /v1/responses"),
        (f"{BASE}/anthropic/api/hello", "https://api.anthropic.com /api/hello"),
    ],
)
def test_where_it_leads(runs: RunRegistry, path: str, leads_to: str) -> None:
    """The name in the path is the API; what stands behind it is the API's own path."""
    address = read_address("127.0.0.1", path, runs)

    assert f"{address.upstream.origin} {address.path}".endswith(leads_to)
    assert address.workplace is not None


def test_gateways_keep_their_own_prefix(runs: RunRegistry) -> None:
    """The user's own base URL is taken whole."""
    address = read_address("localhost", "/r/run-00000000bbbb:t0/ANTHROPIC_BASE_URL/v1/messages", runs)

    assert address.upstream.prefix == "/anthropic"


def test_a_shells_is_of_no_directory(runs: RunRegistry, tmp_path: Path) -> None:
    """Its credentials are good, but what it works on has to be found out."""
    run = shell_run(state_in(tmp_path), {})

    assert read_address("127.0.0.1", f"/r/{run.run_id}:{run.token}/openai/v1/x", runs).workplace is None


@pytest.mark.parametrize(
    ("host", "path", "status_code", "reason"),
    [
        ("127.0.0.1", "/", 404, "no_run"),
        ("127.0.0.1", "/v1/messages", 404, "no_run"),
        ("127.0.0.1", "*", 404, "no_run"),
        ("127.0.0.1", f"/r/{RUN}/anthropic/v1/messages", 404, "no_run"),
        ("127.0.0.1", f"/r/{RUN}:wrong/anthropic/v1/messages", 403, "credentials"),
        ("127.0.0.1", f"/r/run-ffffffffffff:{TOKEN}/anthropic/v1/messages", 403, "credentials"),
        ("127.0.0.1", f"/r/..:{TOKEN}/anthropic/v1/messages", 403, "credentials"),
        ("127.0.0.1", f"{BASE}/nobody/v1/messages", 404, "name"),
        ("127.0.0.1", f"{BASE}/ANTHROPIC_BASE_URL/v1/messages", 404, "name"),
        ("127.0.0.1", f"{BASE}/host=a@b/v1/messages", 404, "name"),
        ("127.0.0.1", f"{BASE}/host=a:99999/v1/messages", 404, "name"),
        ("evil.example", f"{BASE}/anthropic/v1/messages", 403, "host"),
        ("127.0.0.1.evil.example", f"{BASE}/anthropic/v1/messages", 403, "host"),
    ],
)
def test_what_is_refused(runs: RunRegistry, host: str, path: str, status_code: int, reason: str) -> None:
    """Without a run's token nothing goes anywhere, and the message never repeats a token."""
    with pytest.raises(RefusedError) as refused:
        read_address(host, path, runs)

    assert (refused.value.status_code, refused.value.reason) == (status_code, reason)
    assert TOKEN not in str(refused.value)


async def test_the_request_is_as_if_sent_to_the_api(tmp_path: Path) -> None:
    """Upstream sees neither prefix nor token, and the API's own name as Host; every other byte is the client's."""
    got: list[bytes] = []
    body = message()
    reply = b"HTTP/1.1 200 Fine\r\nX-A: 1\r\nx-a: 2\r\ncontent-length: %d\r\n\r\n" % len(body) + body

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await read_request(reader))
        writer.write(reply)
        await reader.read()

    async with (
        raw_server(talk) as api,
        running_proxy(tmp_path, upstreams={HOST: f"http://127.0.0.1:{api.port}"}) as proxy,
        connected(proxy.port) as connection,
    ):
        path = "/v1/messages?beta=true"
        connection.writer.write(
            post(request_body(), "X-oDD: a", *AGENT_HEADERS, **to(proxy.port, f"{BASE}/anthropic{path}"))
        )
        answered = await connection.reader.readexactly(len(reply))
        (chat,) = await proxy.collector.chats(1)

    assert got == [post(request_body(), "X-oDD: a", *AGENT_HEADERS, target=path, host=HOST)]
    assert answered == reply
    assert chat.attributes[gen_ai.PROVIDER_NAME] == "anthropic"
    assert chat.attributes[gen_ai.SERVER_ADDRESS] == HOST
    assert chat.attributes[lore.RUN_ID] == RUN
    assert chat.attributes[lore.REPOSITORY] == REPOSITORY
    assert TOKEN not in repr(proxy.collector.spans)


async def test_streams_and_keeps_the_connection(tmp_path: Path) -> None:
    """Chunks arrive as they come, and two APIs are asked on one connection."""
    gate = asyncio.Event()
    frames = events("a", "b")
    async with (
        api_server(streaming(*frames, gate=gate)) as api,
        api_server(answering(b'{"choices":[]}')) as other,
        running_proxy(tmp_path, upstreams={HOST: api.url, "api.openai.com": other.url}) as proxy,
        connected(proxy.port) as connection,
    ):
        connection.writer.write(post(request_body(), *AGENT_HEADERS, **to(proxy.port, f"{BASE}/anthropic/v1/messages")))
        head = await connection.head()
        first = await asyncio.wait_for(connection.chunk(), 60)
        gate.set()
        while await connection.chunk():
            pass
        second = await connection.ask(post(b"{}", **to(proxy.port, f"{BASE}/openai/v1/files")))
        (chat,) = await proxy.collector.chats(1)

    assert head.startswith(b"HTTP/1.1 200")
    assert first == frames[0]
    assert second.body == b'{"choices":[]}'
    assert other.received[0].path == "/v1/files"
    assert chat.attributes[lore.COMPLETE] is True


async def test_an_abort_is_seen_on_both_sides(tmp_path: Path) -> None:
    """The client goes away in the middle of a stream: the API is told at once, and the partial answer is recorded."""
    gate = asyncio.Event()
    async with (
        api_server(streaming(*events("part", "rest"), gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        async with connected(proxy.port) as connection:
            connection.writer.write(
                post(request_body(), *AGENT_HEADERS, **to(proxy.port, f"{BASE}/anthropic/v1/messages"))
            )
            await connection.head()
            await connection.chunk()
            connection.reset()
        await until(lambda: bool(api.deserted), 3)
        gate.set()
        (chat,) = await proxy.collector.chats(1)

    assert chat.attributes[lore.COMPLETE] is False


@pytest.mark.parametrize("target", ["/", "/v1/messages", f"/r/{RUN}:wrong/anthropic/v1/messages"])
async def test_no_open_relay(tmp_path: Path, target: str) -> None:
    """A request without a run's token gets an error that an SDK can show, and the connection goes on."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        connected(proxy.port) as connection,
    ):
        refused = await connection.ask(post(request_body(), *AGENT_HEADERS, **to(proxy.port, target)))
        served = await connection.ask(
            post(request_body(), *AGENT_HEADERS, **to(proxy.port, f"{BASE}/anthropic/v1/messages"))
        )

    assert refused.status in (403, 404)
    assert "spanlore" in json.loads(refused.body)["error"]["message"]
    assert served.status == 200
    assert len(api.received) == 1
    # The root is where the supervisor looks whether somebody answers.
    assert proxy.service.counts.count("refused") == (target != "/")
    assert proxy.service.counts.count("passthrough") == 0


async def test_a_page_cannot_rebind_its_name(tmp_path: Path) -> None:
    """A path with a foreign Host header is refused; it is not sent to where that name leads."""
    async with running_proxy(tmp_path) as proxy, connected(proxy.port) as connection:
        answer = await connection.ask(
            post(b"{}", target=f"{BASE}/anthropic/v1/messages", host=f"localtest:{proxy.port}")
        )

    assert answer.status == 403
    assert proxy.service.counts.count("refused", "host") == 1


async def test_a_client_that_has_a_proxy_names_us_in_full(tmp_path: Path) -> None:
    """With HTTP_PROXY set, Claude Code sends loopback requests to the proxy in absolute form: they are the same."""
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        connected(proxy.port) as connection,
    ):
        target = f"http://127.0.0.1:{proxy.port}{BASE}/anthropic/v1/messages"
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS, **to(proxy.port, target)))
        (chat,) = await proxy.collector.chats(1)

    assert answer.status == 200
    assert api.received[0].path == "/v1/messages"
    assert chat.attributes[lore.RUN_ID] == RUN


async def test_websockets_too(tmp_path: Path) -> None:
    """Codex speaks WebSocket to a base URL as well: it is led on, and each message is an inference of the run."""
    answer = socket_events("resp_1", [said_item("hello")])
    asked = create([*preamble(), text_item("user", "say hello")])
    async with (
        socket_server(playing(answer)) as api,
        running_proxy(tmp_path, upstreams={"api.openai.com": api.url}) as proxy,
        aiohttp.ClientSession() as session,
        session.ws_connect(
            f"ws://127.0.0.1:{proxy.port}{BASE}/openai/v1/responses", headers=UPGRADE_HEADERS, compress=15
        ) as socket,
    ):
        await socket.send_str(json.dumps(asked))
        got = [json.loads(await asyncio.wait_for(socket.receive_str(), 60)) for _ in answer]
        (chat,) = await proxy.collector.chats(1)

    assert got == answer
    assert chat.attributes[lore.RUN_ID] == RUN
    assert chat.attributes[gen_ai.SERVER_ADDRESS] == "api.openai.com"


async def test_gateways_are_asked_and_recorded_by_their_own_name(tmp_path: Path) -> None:
    """The user's gateway gets the request at its own path, over TLS that is verified, and nobody else."""
    tls, pem = server_tls(tmp_path, "localhost")
    paths = state_in(tmp_path)
    async with api_server(answering(message()), tls=tls) as gateway:
        own = {"ANTHROPIC_BASE_URL": f"https://localhost:{gateway.port}/gw"}
        write_run(paths, Run("run-00000000bbbb", "t0", 1, 1, "claude-code", "", "/w", REPOSITORY, "", "", own))
        async with (
            running_proxy(tmp_path, proxy={"upstream_ca": str(pem)}) as proxy,
            connected(proxy.port) as connection,
        ):
            path = "/r/run-00000000bbbb:t0/ANTHROPIC_BASE_URL/v1/messages"
            answer = await connection.ask(post(request_body(), *AGENT_HEADERS, **to(proxy.port, path)))
            (chat,) = await proxy.collector.chats(1)

    assert answer.body == message()
    assert gateway.received[0].path == "/gw/v1/messages"
    assert gateway.received[0].header("host") == f"localhost:{gateway.port}"
    assert chat.attributes[gen_ai.SERVER_ADDRESS] == "localhost"
    assert chat.attributes[lore.RUN_ID] == "run-00000000bbbb"


async def test_certificates_of_the_api_are_verified(tmp_path: Path) -> None:
    """A server that shows a certificate nobody signed is not believed, though the client itself speaks no TLS."""
    tls, _ = server_tls(tmp_path, "localhost")
    async with (
        api_server(answering(message()), tls=tls) as imposter,
        running_proxy(tmp_path) as proxy,
        connected(proxy.port) as connection,
    ):
        path = f"{BASE}/host=localhost:{imposter.port}/v1/messages"
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS, **to(proxy.port, path)))

    assert answer.status == 502
    assert not imposter.received


async def test_nothing_leads_back_to_the_proxy(tmp_path: Path) -> None:
    """A base URL whose API is this proxy ends in an error and not in a circle."""
    paths = state_in(tmp_path)
    async with running_proxy(tmp_path) as proxy, connected(proxy.port) as connection:
        own = {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{proxy.port}"}
        write_run(paths, Run("run-00000000bbbb", "t0", 1, 1, "claude-code", "", "/w", "", "", "", own))
        path = "/r/run-00000000bbbb:t0/ANTHROPIC_BASE_URL/v1/messages"
        answer = await connection.ask(post(request_body(), *AGENT_HEADERS, **to(proxy.port, path)))

    assert answer.status == 502


async def test_a_shells_agent_is_known_by_its_process(tmp_path: Path) -> None:
    """With a shell's base URL the workplace is what the peer process and the request's own text say."""
    repository = tmp_path / "checkout"
    (repository / ".git").mkdir(parents=True)
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    (repository / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:a/b.git\n')
    run = shell_run(state_in(tmp_path), {})
    write_run(state_in(tmp_path), run)
    system = [{"type": "text", "text": f"Primary working directory: {repository}"}]
    async with (
        api_server(answering(message())) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        connected(proxy.port) as connection,
    ):
        path = f"/r/{run.run_id}:{run.token}/anthropic/v1/messages"
        await connection.ask(post(request_body(system=system), *AGENT_HEADERS, **to(proxy.port, path)))
        (chat,) = await proxy.collector.chats(1)

    assert lore.RUN_ID not in chat.attributes
    assert chat.attributes[lore.REPOSITORY]
