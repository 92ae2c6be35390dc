import asyncio
import socket
from pathlib import Path

import pytest

from spanlore_proxy.capture.connections import IDLE_S, keep_alive, lift_connection_limit
from support.capture_client import post, tunnelled
from support.capture_messages import AGENT_HEADERS, events, request_body
from support.capture_proxy import CREDENTIALS, HOST, running_proxy
from support.capture_upstream import api_server, streaming


async def test_a_vanished_server_is_noticed(tmp_path: Path) -> None:
    """The connection to a server is probed while it is silent, so that a dead one ends."""
    gate = asyncio.Event()
    async with (
        api_server(streaming(*events(), gate=gate)) as api,
        running_proxy(tmp_path, upstreams={HOST: api.url}) as proxy,
        tunnelled(proxy.port, f"{HOST}:443", proxy.ca, credentials=CREDENTIALS) as connection,
    ):
        connection.writer.write(post(request_body(), *AGENT_HEADERS))
        await connection.head()
        (handler,) = proxy.service._proxy._proxyserver.connections.values()
        sockets = [
            transport.writer.get_extra_info("socket")
            for peer, transport in handler.transports.items()
            if peer is not handler.client and isinstance(transport.writer, asyncio.StreamWriter)
        ]
        probes = [
            (one.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), one.getsockopt(socket.IPPROTO_TCP, option))
            for one in sockets
            if (option := getattr(socket, "TCP_KEEPIDLE", None))
        ]
        gate.set()

    assert probes == [(1, IDLE_S)]


async def test_unknown_connections_are_no_error(tmp_path: Path) -> None:
    """A connection may be gone by the time its hook runs."""
    async with running_proxy(tmp_path) as proxy:
        handler_server = next(iter(proxy.service._proxy._proxyserver.connections.values()), None)
        lift_connection_limit("gone")
        with pytest.MonkeyPatch.context():
            from mitmproxy.connection import Server

            keep_alive("gone", Server(address=("127.0.0.1", 1)))

    assert handler_server is None
