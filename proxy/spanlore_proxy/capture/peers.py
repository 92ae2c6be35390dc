"""Which local process holds the other end of a connection, for agents that were not started by `spanlore run`.

The whole 4-tuple is matched, not the port alone. Between fork and exec a child of the agent holds the same socket
(seen in 3 % of lookups): of several holders the one counts whose parent is not a holder. Costs some
milliseconds, so it runs in a thread, once a connection.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

type Address = tuple[str, int]


class StrangerError(PermissionError):
    """The connection belongs to another user of this machine."""


_PROC: Final = Path("/proc")
_ROOT: Final = 0
"""May read whatever the user can."""


def working_directory(client: Address, proxy: Address) -> Path | None:
    """Of the process whose connection goes from `client` to `proxy`; None when nobody is found.

    Raises:
        StrangerError: it is another user's, as far as the system tells (Linux does).
    """
    holders = _holders_linux(client, proxy) if sys.platform == "linux" else _holders(client, proxy)
    pid = oldest_holder({pid: _parent(pid) for pid in holders})
    if pid is None:
        return None
    try:
        return Path(psutil.Process(pid).cwd())
    except (psutil.Error, OSError):
        return None


def oldest_holder(parents: dict[int, int | None]) -> int | None:
    """Of processes with their parents, the one whose parent is not among them; the lowest number if there are more."""
    return min((pid for pid, parent in parents.items() if parent not in parents), default=None)


def _holders(client: Address, proxy: Address) -> set[int]:
    """By psutil, process by process: without root, other users' processes and connections are not shown."""
    found = set()
    for process in psutil.process_iter():
        try:
            connections = process.net_connections(kind="tcp")
        except (psutil.Error, OSError):
            continue
        if any(tuple(c.laddr) == client and tuple(c.raddr) == proxy for c in connections):
            found.add(process.pid)
    return found


def _holders_linux(client: Address, proxy: Address) -> set[int]:
    """From /proc: a third of psutil's cost, since only sockets of this user's processes are looked at."""
    socket = _socket(client, proxy)
    if socket is None:
        return set()
    owner, inode = socket
    if owner not in (os.geteuid(), _ROOT):
        raise StrangerError(f"the connection from port {client[1]} is user {owner}'s")
    wanted = f"socket:[{inode}]"
    return {pid for pid in _own_processes() if _holds(pid, wanted)}


def _socket(client: Address, proxy: Address) -> tuple[int, str] | None:
    """Owner's user id and inode of the client's end."""
    local, remote = _hex(client), _hex(proxy)
    table = _PROC / "net" / ("tcp6" if ":" in client[0] else "tcp")
    try:
        with table.open() as lines:
            for line in lines:
                words = line.split()
                if words[1] == local and words[2] == remote:
                    return int(words[7]), words[9]
    except (OSError, IndexError, ValueError):
        pass  # not readable: the process stays unknown, as it would be on another system
    return None


def _hex(address: Address) -> str:
    """As the kernel prints it: 32-bit words in host order, then the port."""
    packed = ipaddress.ip_address(address[0]).packed
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words) + f":{address[1]:04X}"


def _own_processes() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _holds(pid: int, wanted: str) -> bool:
    try:
        with os.scandir(_PROC / str(pid) / "fd") as entries:
            return any(_link(entry.path) == wanted for entry in entries)
    except OSError:  # gone, or somebody else's
        return False


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115 - hundreds of calls a lookup, Path would double their cost
    except OSError:
        return ""


def _parent(pid: int) -> int | None:
    try:
        return psutil.Process(pid).ppid()
    except psutil.Error:
        return None
