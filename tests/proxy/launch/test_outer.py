"""What a caller's environment says of the way to the API."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from spanlore.settings import Paths
from spanlore_proxy.launch.outer import OuterProxy, UnusableError, outer_of, parse_outer
from spanlore_proxy.launch.runs import Outer, new_run, read_run, write_run

OWN_PORT = 7717
COMPANY = "http://me:p%40ss@proxy.corp.example:3128"


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    return paths


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://proxy.corp.example:3128", OuterProxy("http", "proxy.corp.example", 3128, "", "")),
        ("proxy.corp.example:3128", OuterProxy("http", "proxy.corp.example", 3128, "", "")),
        ("https://proxy.corp.example", OuterProxy("https", "proxy.corp.example", 443, "", "")),
        ("http://[::1]:8", OuterProxy("http", "::1", 8, "", "")),
        (COMPANY, OuterProxy("http", "proxy.corp.example", 3128, "Basic bWU6cEBzcw==", "")),
    ],
)
def test_a_proxys_url(url: str, expected: OuterProxy) -> None:
    """With and without a scheme, a port and credentials, which may be escaped."""
    assert parse_outer(url, "") == expected


@pytest.mark.parametrize("url", ["socks5://me:secret@h:1", "http://", "http://me:secret@h:port", "http://[::1"])
def test_what_ours_cannot_go_through(url: str) -> None:
    """It is said, and without what is secret."""
    with pytest.raises(UnusableError) as raised:
        parse_outer(url, "")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("host", "is_carried"),
    [
        ("api.anthropic.com", True),
        ("gw.corp.example", False),
        ("127.0.0.1", False),
        ("127.1.2.3", False),
        ("localhost", False),
        ("::1", False),
        ("10.0.0.1", True),
    ],
)
def test_what_it_carries(host: str, is_carried: bool) -> None:
    """Neither what the caller exempts nor this machine."""
    assert parse_outer(COMPANY, "corp.example").carries(host) is is_carried


def test_the_callers(paths: Paths) -> None:
    """With its exceptions, of either spelling."""
    environ = {"https_proxy": COMPANY, "NO_PROXY": "a.example", "no_proxy": "b.example"}

    assert outer_of(environ, paths, OWN_PORT) == Outer(COMPANY, "a.example,b.example")
    assert outer_of({}, paths, OWN_PORT) == Outer()


def test_within_another_run_it_is_that_runs(paths: Paths) -> None:
    """HTTPS_PROXY is ours there already; behind it is what the first caller had. Who only says the run's name gets
    nothing of it."""
    run = new_run("codex", Path.cwd(), os.getpid(), 1, outer=Outer(COMPANY, "a.example", "/roots.pem"))
    write_run(paths, run)

    def around(token: str) -> dict[str, str]:
        return {"HTTPS_PROXY": f"http://{run.run_id}:{token}@127.0.0.1:{OWN_PORT}"}

    assert read_run(paths, run.run_id) == run
    assert outer_of(around(run.token), paths, OWN_PORT) == run.outer
    assert outer_of(around("0" * 32), paths, OWN_PORT) == Outer()


def test_on_this_machine(paths: Paths) -> None:
    """One that listens here is one like any other (a helper that signs in to the company's); ours is none, nor one that
    is gone."""
    with socket.create_server(("127.0.0.1", 0)) as helper:
        url = f"http://127.0.0.1:{helper.getsockname()[1]}"
        alive = outer_of({"HTTPS_PROXY": url}, paths, OWN_PORT)

    assert alive == Outer(url)
    assert outer_of({"HTTPS_PROXY": url}, paths, OWN_PORT) == Outer()
    assert outer_of({"HTTPS_PROXY": f"http://localhost:{OWN_PORT}"}, paths, OWN_PORT) == Outer()
