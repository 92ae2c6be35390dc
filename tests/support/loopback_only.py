"""A network namespace that holds nothing but loopback, for a thread and all that it starts; and a log of who asked DNS.

What runs in it can reach only what listens on loopback there, so whatever bypasses the proxy fails, and the name it
looked up on its own is known.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

SIOCSIFADDR, SIOCSIFFLAGS, SIOCSIFNETMASK = 0x8916, 0x8914, 0x891C
IFF_UP_RUNNING = 0x41
RESOLV_CONF = Path("/etc/resolv.conf")


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question to a name server."""

    name: str
    asker: str
    """The command line of the process that asked; '' when it is gone."""


class LoopbackOnly:
    """A thread of its own, in such a namespace where the machine allows it (root on Linux); a context manager."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="loopback-only")
        self._sinks: list[socket.socket] = []
        self.is_isolated = False
        self.lookups: list[Lookup] = []
        """What was asked of the machine's name servers, in order."""

    def __enter__(self) -> Self:
        self.run(self._isolate)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for sink in self._sinks:
            # Wakes the thread that waits for a question.
            with contextlib.suppress(OSError):
                sink.shutdown(socket.SHUT_RDWR)
            sink.close()
        self._thread.shutdown()

    def run[T](self, work: Callable[[], T]) -> T:
        """Does the work in that thread. Processes and threads that it starts are in the namespace, too."""
        return self._thread.submit(work).result()

    def _isolate(self) -> None:
        try:
            os.unshare(os.CLONE_NEWNET)
        except (AttributeError, OSError):
            return  # not Linux, or not root
        _set_up("lo")
        self.is_isolated = True
        for number, server in enumerate(_name_servers()):
            _add_address(f"lo:{number}", server)
            self._listen(server)

    def _listen(self, server: str) -> None:
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._sinks.append(sink)
        sink.bind((server, 53))
        threading.Thread(target=self._answer, args=(sink,), name="dns-sink", daemon=True).start()

    def _answer(self, sink: socket.socket) -> None:
        while True:
            try:
                question, client = sink.recvfrom(4096)
                if not question:
                    return
                self.lookups.append(Lookup(_name(question), _asker(client[1])))
                # The question back, as a response with the code "no such name".
                sink.sendto(question[:2] + b"\x81\x83" + question[4:6] + bytes(6) + question[12:], client)
            except OSError:
                return


def _name(question: bytes) -> str:
    labels, at = [], 12
    while at < len(question) and (size := question[at]):
        labels.append(question[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += 1 + size
    return ".".join(labels)


def _asker(port: int) -> str:
    """Whose socket it is that sent from this port."""
    # `thread-self`, for the process's first thread lives in another namespace.
    sockets = [line.split() for line in Path("/proc/thread-self/net/udp").read_text().splitlines()[1:]]
    owned = {f"socket:[{fields[9]}]" for fields in sockets if int(fields[1].rpartition(":")[2], 16) == port}
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if str(descriptor.readlink()) in owned:
                command = (descriptor.parents[1] / "cmdline").read_bytes()
                return command.replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def _name_servers() -> list[str]:
    lines = RESOLV_CONF.read_text().splitlines() if RESOLV_CONF.exists() else []
    found = [line.split()[1] for line in lines if line.startswith("nameserver ")]
    return [server for server in dict.fromkeys(found) if server.count(".") == 3]


def _set_up(name: str) -> None:
    _request(SIOCSIFFLAGS, struct.pack("16sh22x", name.encode(), IFF_UP_RUNNING))


def _add_address(name: str, address: str) -> None:
    if address.startswith("127."):
        return
    for request, value in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, "255.255.255.255")):
        _request(request, struct.pack("16sHH4s16x", name.encode(), socket.AF_INET, 0, socket.inet_aton(value)))
    _set_up(name)


def _request(code: int, structure: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control.fileno(), code, structure)
