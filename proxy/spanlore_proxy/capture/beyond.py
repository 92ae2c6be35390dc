"""What lies beyond this proxy for the agents of one run: another proxy, and roots of their own (`launch.outer`).

Every connection to a server goes through the run's outer proxy, by CONNECT: those of LLM hosts and the opaque tunnels,
since the machine may have no other way out. What an override or a base URL leads to on this machine does not.
"""

from __future__ import annotations

import functools
import logging
from pathlib import Path
from typing import Any, Final

from mitmproxy import http, tls
from OpenSSL import SSL

from spanlore_proxy.capture.runs import Credentials, RunRegistry
from spanlore_proxy.launch.outer import OuterProxy, UnusableError, parse_outer

MAX_ROOTS: Final = 32
_log = logging.getLogger(__name__)


class Beyond:
    """Which connections lead where. Its methods are called on the event loop; they read a run's file once."""

    def __init__(self, runs: RunRegistry) -> None:
        self._runs = runs
        self._proxies: dict[str, OuterProxy] = {}
        self._roots: dict[str, str] = {}

    def introduce(self, connection: str, credentials: Credentials | None) -> None:
        """A client connection, and whose run it says to be."""
        if credentials is None or connection in self._proxies or connection in self._roots:
            return
        run = self._runs.known(credentials)
        outer = run.get("outer") if run is not None else None
        if not isinstance(outer, dict):
            return
        if roots := str(outer.get("roots") or ""):
            self._roots[connection] = roots
        if url := str(outer.get("proxy") or ""):
            try:
                self._proxies[connection] = parse_outer(url, str(outer.get("exempt") or ""))
            except UnusableError:
                _log.error("the proxy of %s can't be used", credentials.user)

    def lead(self, flow: http.HTTPFlow, host: str) -> None:
        """Where the flow's connection to `host` goes through. The flow has none yet."""
        proxy = self._proxies.get(flow.client_conn.id)
        if proxy is not None and proxy.carries(host):
            flow.server_conn.via = ("https" if proxy.scheme == "https" else "http", (proxy.host, proxy.port))
        elif flow.server_conn.via is not None:
            flow.server_conn.via = None

    def authorize(self, flow: http.HTTPFlow) -> None:
        """A CONNECT to the outer proxy that is about to leave."""
        proxy = self._proxies.get(flow.client_conn.id)
        if proxy is not None and proxy.authorization:
            flow.request.headers["Proxy-Authorization"] = proxy.authorization

    def trust(self, connection: str, data: tls.TlsData) -> None:
        """Has the server's certificate, or the outer proxy's, verified with the roots of the run."""
        roots = self._roots.get(connection)
        if roots is not None and data.ssl_conn is not None:
            # Versions, ciphers and the name to be verified are the connection's; the store is its context's.
            state = Path(roots).stat()
            data.ssl_conn.set_context(_context(roots, (state.st_ino, state.st_mtime_ns, state.st_size)))

    def forget(self, connection: str) -> None:
        """It is closed."""
        self._proxies.pop(connection, None)
        self._roots.pop(connection, None)


class Trusting:
    """An addon behind mitmproxy's TLS addon, which has made the connection by then."""

    def __init__(self, beyond: Beyond) -> None:
        self._beyond = beyond

    def tls_start_server(self, data: tls.TlsData) -> None:
        try:
            self._beyond.trust(data.context.client.id, data)
        except (OSError, SSL.Error) as error:
            # The roots are gone or broken: the system's decide.
            _log.error("the roots of a run can't be read: %s", error)


@functools.lru_cache(MAX_ROOTS)
def _context(roots: str, _state: tuple[int, int, int]) -> Any:
    """Reading the system's roots takes milliseconds. A file that is replaced or renewed is read again."""
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    context.load_verify_locations(roots)
    return context
