"""The proxy that the caller's environment names, a company's for instance: ours stands in front of the agent, and goes
through that one, as the agent would have without us.

`spanlore run` writes it into the run's file, with the caller's exceptions (`NO_PROXY`) and the roots that the caller's
variables name: such a proxy often opens TLS itself, and shows certificates that only the company's own CA vouches for.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from spanlore.settings import Paths
from spanlore_proxy.launch.environment import bypassed, other_proxy
from spanlore_proxy.launch.ports import HOST
from spanlore_proxy.launch.runs import Outer, read_run

DEFAULT_PORTS: Final = {"http": 80, "https": 443}
ALIVE_S: Final = 1.0
_OWN_NAMES: Final = frozenset({HOST, "localhost", "::1"})


class UnusableError(ValueError):
    """The variable names something that ours can't go through. The message holds no credentials."""


@dataclass(frozen=True, slots=True)
class OuterProxy:
    """An HTTP proxy."""

    scheme: str
    """How itself is spoken to: http, https."""
    host: str
    port: int
    authorization: str
    """Of its `Proxy-Authorization`; '' for none."""
    exempt: str
    """As in NO_PROXY."""

    def carries(self, host: str) -> bool:
        """Whether what is meant for this host goes through it. What is on this machine never does."""
        if host.lower() in _OWN_NAMES or _is_loopback(host):
            return False
        return not bypassed(host.lower(), {"NO_PROXY": self.exempt})


def parse_outer(url: str, exempt: str) -> OuterProxy:
    """The proxy of a URL as the variables have it, which may lack the scheme.

    Raises:
        UnusableError: it is of another kind, SOCKS for instance, or names no host.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError:
        raise UnusableError("is no URL") from None
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname:
        raise UnusableError("is no HTTP proxy")
    authorization = ""
    if parts.username is not None:
        said = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(said.encode()).decode()}"
    return OuterProxy(parts.scheme, parts.hostname, port or DEFAULT_PORTS[parts.scheme], authorization, exempt)


def outer_of(environ: Mapping[str, str], paths: Paths, own_port: int) -> Outer:
    """What a run of this caller has to go through. Within another `spanlore run` that run's own; nothing where a proxy
    is named on this machine that isn't there, which is what a daemon leaves in a shell that it outlived.

    Raises:
        UnusableError: ours can't go through what is named.
    """
    url = other_proxy(environ)
    if not url:
        return Outer()
    exempt = ",".join(environ[name] for name in ("NO_PROXY", "no_proxy") if environ.get(name))
    found = parse_outer(url, exempt)
    if found.host in _OWN_NAMES or _is_loopback(found.host):
        around = re.match(r"(?:\w+://)?((?:run|shell)-[0-9a-f]{12}):(\w+)@", url)
        run = read_run(paths, around[1]) if around is not None else None
        if run is not None and around is not None and run.token == around[2]:
            return run.outer
        if found.port == own_port or not _is_alive(found):
            return Outer()
    return Outer(url, exempt)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_alive(proxy: OuterProxy) -> bool:
    try:
        with socket.create_connection((proxy.host, proxy.port), ALIVE_S):
            return True
    except OSError:
        return False
