"""Through another proxy: what a company's network asks of ours. All of it on loopback: the names are only said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from spanlore_proxy.launch.base_urls import PREFIX
from support.capture_client import connect_request, connected, post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, message, request_body
from support.capture_proxy import CREDENTIALS, HOST, RUN, TOKEN, running_proxy, state_in
from support.capture_upstream import answering, api_server, raw_server, server_tls, streaming
from support.outer_proxy import CompanyProxy, company_proxy

API = f"{HOST}:443"
BASIC = "Basic bWU6cEBzcw=="
"""me, p@ss."""


def comes_from(
    folder: Path, company: CompanyProxy, *, user: str = "", exempt: str = "", roots: Path | None = None
) -> None:
    """Writes the run as one whose caller is behind that proxy."""
    file = state_in(folder).runs_dir / f"{RUN}.json"
    outer = {"proxy": f"http://{user}127.0.0.1:{company.port}", "exempt": exempt, "roots": str(roots or "")}
    file.write_text(json.dumps({**json.loads(file.read_text()), "outer": outer}))


async def greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Speaks first, then sends back what it gets."""
    writer.write(b"220 hello\r\n")
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()


async def test_requests_go_through_it_and_are_captured(tmp_path: Path) -> None:
    """To the API by CONNECT with the user's credentials, verified with the roots that the caller named; captured as
    ever, the bytes those of the server. Another request on the same connection needs no other tunnel."""
    tls, pem = server_tls(tmp_path, HOST)
    chunks = [b"".join(events("hello"))]
    async with (
        api_server(streaming(*chunks), tls=tls) as api,
        company_proxy({API: api.port}, BASIC) as company,
        running_proxy(tmp_path) as proxy,
    ):
        comes_from(tmp_path, company, user="me:p%40ss@", roots=pem)
        async with tunnelled(proxy.port, API, proxy.ca, credentials=CREDENTIALS) as connection:
            answers = [await connection.ask(post(request_body(), *AGENT_HEADERS)) for _ in range(2)]
        chats = await proxy.collector.chats(2)

    assert [answer.body for answer in answers] == chunks * 2
    assert (company.asked, company.refused) == ([API], 0)
    assert all(request.header("proxy-authorization") is None for request in api.received)
    assert len(chats) == 2


async def test_tunnels_go_through_it(tmp_path: Path) -> None:
    """A host that is no LLM API: opaque, the server may speak first, and its end is passed on."""
    async with (
        raw_server(greeting) as server,
        company_proxy({"git.example:22": server.port}) as company,
        running_proxy(tmp_path) as proxy,
    ):
        comes_from(tmp_path, company)
        async with tunnelled(proxy.port, "git.example:22", None, credentials=CREDENTIALS) as connection:
            said = await asyncio.wait_for(connection.reader.readline(), 60)
            connection.writer.write(bytes(range(256)) * 500)
            connection.writer.write_eof()
            heard = await asyncio.wait_for(connection.reader.read(), 60)

    assert (said, heard) == (b"220 hello\r\n", bytes(range(256)) * 500)
    assert company.asked == ["git.example:22"]


@pytest.mark.parametrize("target", [API, "git.example:22"])
async def test_what_it_refuses_is_told(tmp_path: Path, target: str) -> None:
    """A wrong password is a 502 that names the 407, for the API and for a tunnel alike; nothing hangs."""
    async with company_proxy({}, BASIC) as company, running_proxy(tmp_path) as proxy:
        comes_from(tmp_path, company, user="me:wrong@")
        if target == API:
            async with tunnelled(proxy.port, API, proxy.ca, credentials=CREDENTIALS) as connection:
                answer = await asyncio.wait_for(connection.ask(post(request_body(), *AGENT_HEADERS)), 60)
        else:
            async with connected(proxy.port) as connection:
                answer = await asyncio.wait_for(connection.ask(connect_request(target, CREDENTIALS)), 60)

    assert answer.status == 502
    assert b"407" in answer.body
    assert company.refused == 1


@pytest.mark.parametrize(("exempt", "credentials"), [("example.org", CREDENTIALS), ("", ""), ("", f"{RUN}:other")])
async def test_only_this_runs_and_not_what_it_exempts(tmp_path: Path, exempt: str, credentials: str) -> None:
    """Neither a host of the caller's NO_PROXY, nor a client that says no run, nor one that only says so."""
    async with company_proxy({}) as company, running_proxy(tmp_path) as proxy:
        comes_from(tmp_path, company, exempt=exempt)
        async with connected(proxy.port) as connection:
            # No server has this name, and none is asked for it: `.invalid` below the exempted domain.
            name = "nowhere.example.org" if exempt else "nowhere.invalid"
            answer = await asyncio.wait_for(connection.ask(connect_request(f"{name}:9", credentials)), 60)

    assert answer.status == 502
    assert company.asked == []


async def test_overrides_on_this_machine_do_not(tmp_path: Path) -> None:
    """A local model, or a gateway on loopback, is reached as it is."""
    async with (
        api_server(answering(message("hello"))) as api,
        company_proxy({}) as company,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
    ):
        comes_from(tmp_path, company)
        async with tunnelled(proxy.port, API, proxy.ca, credentials=CREDENTIALS) as connection:
            answer = await connection.ask(post(request_body(), *AGENT_HEADERS))

    assert answer.status == 200
    assert company.asked == []


async def test_base_urls_go_through_it(tmp_path: Path) -> None:
    """An agent that was given a base URL has no proxy of its own; its run tells of the caller's."""
    tls, pem = server_tls(tmp_path, HOST)
    async with (
        api_server(answering(b"{}"), tls=tls) as api,
        company_proxy({API: api.port}) as company,
        running_proxy(tmp_path) as proxy,
    ):
        comes_from(tmp_path, company, roots=pem)
        target = f"{PREFIX}{RUN}:{TOKEN}/anthropic/v1/messages"
        async with connected(proxy.port) as connection:
            asked = post(request_body(), *AGENT_HEADERS, target=target, host=f"127.0.0.1:{proxy.port}")
            answer = await connection.ask(asked)

    assert (answer.status, answer.body) == (200, b"{}")
    assert company.asked == [API]


async def test_roots_that_are_renewed_are_read_again(tmp_path: Path) -> None:
    """A company's file of roots is replaced while the daemon runs: the next connection goes by the new one."""
    (tmp_path / "new").mkdir()
    tls, pem = server_tls(tmp_path, HOST)
    new_tls, new_pem = server_tls(tmp_path / "new", HOST)
    async with (
        api_server(answering(b"{}"), tls=tls) as old,
        api_server(answering(b"{}"), tls=new_tls) as api,
        company_proxy({API: old.port}) as before,
        company_proxy({API: api.port}) as company,
        running_proxy(tmp_path) as proxy,
    ):
        statuses = []
        for through in (before, company, company):
            comes_from(tmp_path, through, roots=pem)
            async with tunnelled(proxy.port, API, proxy.ca, credentials=CREDENTIALS) as connection:
                statuses.append((await connection.ask(post(request_body(), *AGENT_HEADERS))).status)
            if len(statuses) == 2:
                new_pem.replace(pem)

    assert statuses == [200, 502, 200]


async def test_roots_of_one_run_are_not_anothers(tmp_path: Path) -> None:
    """Without the roots that a run named, the company's certificate is believed by nobody."""
    tls, _ = server_tls(tmp_path, HOST)
    async with (
        api_server(answering(b"{}"), tls=tls) as api,
        company_proxy({API: api.port}) as company,
        running_proxy(tmp_path) as proxy,
    ):
        comes_from(tmp_path, company)
        async with tunnelled(proxy.port, API, proxy.ca, credentials=CREDENTIALS) as connection:
            answer = await connection.ask(post(request_body(), *AGENT_HEADERS))

    assert answer.status == 502
    assert api.received == []
