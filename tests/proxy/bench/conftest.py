"""The benchmark's upstream, and all that it compares, running."""

import contextlib
import datetime
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from spanlore_proxy.bench.certificate import write_certificate
from spanlore_proxy.bench.load import Target
from spanlore_proxy.bench.targets import Stage, free_port, stage


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """The upstream in its own process, reached directly."""
    cert = tmp_path_factory.mktemp("bench") / "cert.pem"
    write_certificate(cert, datetime.datetime.now(datetime.UTC))
    port = free_port()
    command = [sys.executable, "-m", "spanlore_proxy.bench.upstream", "--port", str(port), "--cert", str(cert)]
    process = subprocess.Popen(command)
    try:
        for _ in range(200):
            with contextlib.closing(socket.socket()) as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield Target("direct", f"https://localhost:{port}/v1/messages", None, str(cert))
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Direct, bare mitmdump and spanlore with everything on."""
    with stage(tmp_path_factory.mktemp("stage")) as started:
        yield started
