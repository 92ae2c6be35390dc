import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from spanlore_proxy.capture import peers
from spanlore_proxy.capture.peers import Address, StrangerError, oldest_holder, working_directory

CLIENT = textwrap.dedent(
    """
    import socket, subprocess, sys, time
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    connection.set_inheritable(True)
    child = subprocess.Popen([sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(60)"],
                             cwd="/", close_fds=False)
    time.sleep(60)
    """
)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[tuple[Address, Address]]:
    """The two addresses of a connection held by a process in `tmp_path` and by its child in another directory."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(port)], cwd=tmp_path, stdout=subprocess.PIPE, text=True, process_group=0
        )
        assert process.stdout is not None
        accepted, address = server.accept()
        process.stdout.readline()
        with accepted:
            yield address, accepted.getsockname()
        # The child is in the process's own group, made above.
        subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=True)
        process.wait()
        process.stdout.close()


def test_the_holder_is_found(connection: tuple[Address, Address], tmp_path: Path) -> None:
    """The agent's working directory is found, although a child that stands elsewhere holds the socket too."""
    assert working_directory(*connection) == tmp_path


def test_the_portable_way_finds_the_same(connection: tuple[Address, Address], tmp_path: Path) -> None:
    """Systems without /proc ask psutil, and get the same holders."""
    assert peers._holders(*connection) == peers._holders_linux(*connection)


def test_nobody_holds_an_unknown_connection(connection: tuple[Address, Address]) -> None:
    """The whole 4-tuple has to fit, not the port alone."""
    client, (host, port) = connection

    assert working_directory(client, (host, port ^ 1)) is None


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="a socket is given away by root, on Linux")
def test_another_users_connection_is_a_strangers() -> None:
    """By the owner that the kernel tells; nothing is looked for among this user's processes."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        ends = client.getsockname(), client.getpeername()

        assert working_directory(*ends) == Path.cwd()
        os.fchown(client.fileno(), 65534, -1)
        with pytest.raises(StrangerError):
            working_directory(*ends)


@pytest.mark.parametrize(
    ("parents", "holder"),
    [({}, None), ({5: 1}, 5), ({5: 1, 6: 5, 7: 6}, 5), ({9: 1, 4: 2}, 4), ({6: 5, 7: 6}, 6), ({5: None}, 5)],
)
def test_the_holder_whose_parent_is_none(parents: dict[int, int | None], holder: int | None) -> None:
    """Between fork and exec children hold the agent's socket: the eldest counts."""
    assert oldest_holder(parents) == holder
