import asyncio
import os
import socket
from pathlib import Path

import pytest

from spanlore_proxy.capture.master import adopt, listen
from support.capture_client import connected
from support.capture_proxy import running_proxy


async def test_only_what_a_proxy_needs(tmp_path: Path) -> None:
    """No addon that keeps flows, and every option that protects the agent is set."""
    async with running_proxy(tmp_path) as proxy:
        master = proxy.service._proxy._master
        names = set(master.addons.lookup)
        options = master.options

    assert names == {"core", "proxyserver", "captureaddon", "nextlayer", "tlsconfig", "disableh2c", "trusting"}
    assert (options.connection_strategy, options.websocket, options.store_streamed_bodies) == ("lazy", False, False)
    assert (options.body_size_limit, options.stream_large_bodies, options.ssl_insecure) == (None, None, False)


async def test_a_handed_down_socket_is_served(tmp_path: Path) -> None:
    """The socket of a parent process stays open after the proxy has ended, and a connection waits in it meanwhile."""
    parent = socket.create_server(("127.0.0.1", 0))
    port = parent.getsockname()[1]
    answers = []
    try:
        for round_number in range(2):
            listening = adopt(os.dup(parent.fileno()))
            waiting = await asyncio.open_connection("127.0.0.1", port)  # before anybody accepts
            async with running_proxy(tmp_path / str(round_number), listening=listening) as proxy:
                assert proxy.port == port
                waiting[1].write(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
                answers.append((await waiting[0].readline()).split()[0])
                waiting[1].close()
                await waiting[1].wait_closed()
    finally:
        parent.close()

    assert answers == [b"HTTP/1.1", b"HTTP/1.1"]


@pytest.mark.parametrize("is_adopted", [True, False])
async def test_nothing_waits_for_a_delayed_ack(tmp_path: Path, is_adopted: bool) -> None:
    """Nagle's algorithm is off on clients' connections, wherever the listening socket came from."""
    made = socket.create_server(("127.0.0.1", 0))
    listening = adopt(made.detach()) if is_adopted else listen(0)
    if not is_adopted:
        made.close()
    async with running_proxy(tmp_path, listening=listening) as proxy, connected(proxy.port):
        await asyncio.sleep(0.05)
        (handler,) = proxy.service._proxy._proxyserver.connections.values()
        writer = handler.transports[handler.client].writer
        assert isinstance(writer, asyncio.StreamWriter)
        option = writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert option == 1


def test_what_is_no_socket_is_an_error() -> None:
    """A wrong descriptor is told at once."""
    with Path("/dev/null").open() as file, pytest.raises(OSError):
        adopt(file.fileno())


def test_a_taken_port_is_an_error() -> None:
    """Of two proxies on one port the second is told."""
    with listen(0) as first, pytest.raises(OSError):
        listen(first.getsockname()[1])


async def test_close_ends_open_connections(tmp_path: Path) -> None:
    """An idle connection does not keep the proxy from ending."""
    async with running_proxy(tmp_path) as proxy, connected(proxy.port) as connection:
        await asyncio.sleep(0.05)
        before = proxy.service.describe()["connections"]
        await proxy.service._proxy.close()
        rest = await asyncio.wait_for(connection.reader.read(), 60)

    assert (before, rest) == (1, b"")
