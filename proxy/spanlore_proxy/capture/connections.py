"""What mitmproxy leaves as it is about connections, and a proxy for agents must not.

- At most five connections to one server for each client connection: over HTTP/2 in and HTTP/1.1 out the sixth
  parallel request would wait for the first stream to end.
- No keep-alive probes towards the server: an answer whose server has vanished without a word (network gone, laptop
  asleep) would never end, and agents have no timeout of their own (claude-code hangs for up to 50 minutes).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections import defaultdict
from typing import Final

from mitmproxy import ctx
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.connection import Server
from mitmproxy.proxy.mode_servers import ProxyConnectionHandler

MAX_SERVER_CONNECTIONS: Final = 256
IDLE_S: Final = 30
INTERVAL_S: Final = 10
PROBES: Final = 6
"""A vanished server is given up 30 + 6 × 10 s after it was last heard of."""


def lift_connection_limit(client_id: str) -> None:
    """For one client connection."""
    handler = _handler(client_id)
    if handler is not None:
        handler.max_conns = defaultdict(lambda: asyncio.Semaphore(MAX_SERVER_CONNECTIONS))


def keep_alive(client_id: str, server: Server) -> None:
    """Has the system ask whether the server is still there while it says nothing."""
    handler = _handler(client_id)
    transport = handler.transports.get(server) if handler is not None else None
    if transport is None or not isinstance(transport.writer, asyncio.StreamWriter):
        return
    connection = transport.writer.get_extra_info("socket")
    if connection is None:
        return
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", IDLE_S), ("TCP_KEEPINTVL", INTERVAL_S), ("TCP_KEEPCNT", PROBES)):
        # macOS before Python 3.10 has no TCP_KEEPIDLE; its own default then is two hours.
        if option := getattr(socket, name, None):
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _handler(client_id: str) -> ProxyConnectionHandler | None:
    server = ctx.master.addons.get("proxyserver")
    return server.connections.get(client_id) if isinstance(server, Proxyserver) else None
