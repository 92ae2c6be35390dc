"""Ports, settled before anything starts: configured, or free where 0 is configured.

A taken one is told with its holder and the setting to change.
"""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from spanlore.settings import Settings

HOST: Final = "127.0.0.1"
BACKLOG: Final = 1024
"""Connections that wait while the proxy restarts; the system may cap it (128 on macOS)."""
PATIENCE_S: Final = 2.0


class PortTakenError(OSError):
    """A configured port is held by another process. The message says which, by whom, and what to set."""

    def __init__(self, message: str, port: int) -> None:
        super().__init__(message)
        self.port = port


@dataclass(frozen=True, slots=True)
class Ports:
    """Where the daemon listens. The proxy's socket is listening already and stays open while the proxy restarts."""

    proxy: socket.socket
    collector: int
    clickhouse: int
    web: int = 0

    @property
    def proxy_port(self) -> int:
        return int(self.proxy.getsockname()[1])


def settle(settings: Settings, proxy: socket.socket | None = None) -> Ports:
    """`proxy`: the socket that the proxy has listened on so far.

    Raises: PortTakenError.
    """
    proxy = proxy or _bind(settings.proxy.port, "proxy.port")
    others: list[socket.socket] = []
    try:
        others.append(_bind(settings.collector.port, "collector.port"))
        # All are held until all are known, so that free ports are different ones.
        others.append(_bind(settings.collector.clickhouse_port, "collector.clickhouse_port"))
        others.append(_bind(settings.web.port, "web.port"))
        proxy.listen(BACKLOG)
        collector, clickhouse, web = (int(taken.getsockname()[1]) for taken in others)
    except BaseException:
        proxy.close()
        raise
    finally:
        for taken in others:
            taken.close()
    return Ports(proxy, collector, clickhouse, web)


def _bind(port: int, setting: str) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((HOST, port))
        if port:
            # On Linux bind() succeeds beside another socket with SO_REUSEADDR; listen() is what tells.
            made.listen(1)
    except OSError as error:
        made.close()
        raise PortTakenError(_taken(port, setting, error), port) from None
    return made


def _taken(port: int, setting: str, error: OSError) -> str:
    holder = holder_of(port)
    by = f" by {holder}" if holder else ""
    variable = f"SPANLORE_{setting.replace('.', '_').upper()}"
    state = f"taken{by}" if error.errno in (48, 98) else f"not usable: {error.strerror}"
    return (
        f"port {port} ({setting}) is {state}. "
        f"Stop that program, or set {variable} (or {setting} in config.toml) to another port; 0 takes a free one."
    )


def answers(port: int) -> bool:
    """Whether something takes connections there."""
    try:
        with socket.create_connection((HOST, port), timeout=PATIENCE_S):
            return True
    except OSError:
        return False


def holder_of(port: int) -> str:
    """`pid 123 (name)` of the process that listens there; '' where the system doesn't tell."""
    with suppress(psutil.Error):
        for holder in _holders(port):
            return f"pid {holder.pid} ({holder.name()})"
    return ""


def is_left_behind(port: int, state_dir: Path) -> bool:
    """Whether a process of a daemon of this very state directory listens there. Asked by who holds the directory's
    lock, it is one whose directory was deleted."""
    for holder in _holders(port):
        try:
            if holder.environ().get("SPANLORE_STATE_DIR") == str(state_dir):
                return True
        except (psutil.NoSuchProcess, ProcessLookupError):
            return True  # it has ended since, and a zombie says nothing: the port is free in a moment
        except (psutil.Error, OSError):
            continue
    return False


def _holders(port: int) -> list[psutil.Process]:
    try:
        return [
            psutil.Process(connection.pid)
            for connection in psutil.net_connections("tcp4")
            # An unbound socket has an empty address.
            if connection.status == psutil.CONN_LISTEN
            and (connection.laddr.port if connection.laddr else 0) == port
            and connection.pid
        ]
    except (psutil.Error, OSError):
        # macOS tells other processes' sockets only to root.
        return []
