"""mitmproxy, embedded: its event loop machinery, its protocol layers, and the few addons a proxy needs.

- `Master` is what `DumpMaster` is made of; DumpMaster's thirty other addons (replay, save, block lists, scripts …)
  serve a person at a terminal, and mitmproxy visits every addon twice for every hook of every request.
- Nothing keeps flows: no view, no event store, and streamed bodies are not stored.
- The listening socket belongs to the supervisor and is handed down as a descriptor, so a restart of the proxy refuses
  no connection. mitmproxy can only listen on addresses; `server=False` keeps it from that, and its own
  `RegularInstance` gets each connection from our `asyncio.Server` on that socket. (A subclass of `RegularInstance`
  cannot be registered: mitmproxy allows one class a mode.)
- Options: `connection_strategy=lazy` (an overridden host must never be contacted), `websocket=False` (101 becomes an
  opaque stream, byte for byte), `validate_inbound_headers=False` (what the agent and its API say to each other is not
  ours to refuse), `tcp_timeout` a day (default 10 minutes, which would cut a slow first token's connection).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from mitmproxy.addons.core import Core
from mitmproxy.addons.disable_h2c import DisableH2C
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.addons.tlsconfig import TlsConfig
from mitmproxy.master import Master
from mitmproxy.options import Options
from mitmproxy.proxy.mode_servers import ServerInstance

from spanlore_proxy.capture.trailers import leave_out_trailers

TCP_TIMEOUT_S: Final = 24 * 3600
BACKLOG: Final = 512
CLOSE_S: Final = 1.0
"""How long connections get to close at the end."""


class EmbeddedProxy:
    """One mitmproxy on one listening socket. `start`, then `stop_accepting`, then `close`."""

    def __init__(self, addons: Sequence[object], after: Sequence[object] = (), *, ca_dir: Path, roots: Path) -> None:
        """`addons` come before mitmproxy's TLS addon, in this order, and `after` behind it; one of the first has to
        choose layers. Must be made inside the event loop.

        Raises:
            mitmproxy.exceptions.OptionsError: an option is not accepted.
        """
        # mitmproxy logs two lines a connection; formatting them costs more than the hooks do.
        logging.getLogger("mitmproxy").setLevel(logging.WARNING)
        leave_out_trailers()
        self._master = Master(Options())
        self._proxyserver = Proxyserver()
        self._master.addons.add(Core(), self._proxyserver, *addons, TlsConfig(), *after, DisableH2C())
        self._master.options.update(
            confdir=str(ca_dir),
            server=False,
            mode=["regular"],
            connection_strategy="lazy",
            http2=True,
            websocket=False,
            rawtcp=True,
            upstream_cert=False,
            validate_inbound_headers=False,
            tcp_timeout=TCP_TIMEOUT_S,
            ssl_verify_upstream_trusted_ca=str(roots),
        )
        self._task: asyncio.Task[None] | None = None
        self._server: asyncio.Server | None = None

    @property
    def connections(self) -> int:
        """Open client connections."""
        return len(self._proxyserver.connections)

    async def start(self, listening: socket.socket) -> None:
        """Serves connections from the socket, which must be bound; it is closed with the proxy."""
        self._task = asyncio.create_task(self._master.run(), name="mitmproxy")
        while not self._proxyserver.is_running:
            if self._task.done():
                self._task.result()
                raise RuntimeError("mitmproxy ended while starting")
            await asyncio.sleep(0)
        instance: ServerInstance[Any] = ServerInstance.make("regular", self._proxyserver)
        self._server = await asyncio.start_server(instance.handle_stream, sock=listening)

    def stop_accepting(self) -> None:
        """New connections wait in the socket's queue for the next proxy; running ones go on."""
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """Ends all connections and mitmproxy itself."""
        self.stop_accepting()
        for handler in list(self._proxyserver.connections.values()):
            for transport in list(handler.transports.values()):
                if transport.handler is not None:
                    transport.handler.cancel("proxy stops")
        if self._server is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._server.wait_closed(), CLOSE_S)
        self._master.shutdown()
        if self._task is not None:
            await self._task


def adopt(descriptor: int) -> socket.socket:
    """The listening socket behind a descriptor that was handed down.

    Raises:
        OSError: it is no TCP socket.
    """
    family = socket.socket(fileno=descriptor)
    try:
        listening = socket.socket(family.family, family.type, socket.IPPROTO_TCP, fileno=descriptor)
    finally:
        family.detach()
    return _prepared(listening)


def listen(port: int) -> socket.socket:
    """A listening socket of our own on loopback; port 0 takes a free one.

    Raises:
        OSError: the port is taken.
    """
    with socket.create_server(("127.0.0.1", port), backlog=BACKLOG) as made:
        return adopt(made.detach())


def _prepared(listening: socket.socket) -> socket.socket:
    """asyncio turns Nagle's algorithm off only where a socket says that its protocol is TCP, which those made without
    naming it do not. With it on, every request would wait 40 ms for the delayed ACK of its first packet."""
    listening.setblocking(False)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
