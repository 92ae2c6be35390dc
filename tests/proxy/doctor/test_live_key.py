"""The one check that leaves the machine."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from spanlore.settings import Settings
from spanlore_proxy.doctor.examine import CHECKS
from spanlore_proxy.doctor.finding import Severity
from spanlore_proxy.doctor.live_key import PROVIDERS, keys
from spanlore_proxy.doctor.scene import Scene

type Make = Callable[..., Scene]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """A provider that takes the key `good`, and is out of order for `odd`."""

    class Handler(BaseHTTPRequestHandler):
        """`GET /v1/models` and its like."""

        def do_GET(self) -> None:
            given = (self.headers["x-api-key"] or self.headers["authorization"] or "").removeprefix("Bearer ")
            self.send_response({"good": 200, "odd": 529}.get(given, 401))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("key", "severity"), [("good", Severity.OK), ("bad", Severity.ERROR), ("odd", Severity.WARNING)]
)
def test_a_key_is_tried_at_its_provider(scene: Make, provider: str, key: str, severity: Severity) -> None:
    """Taken, refused, or unclear; the key itself is never shown."""
    settings = Settings(upstreams={entry.host: provider for entry in PROVIDERS})
    (finding,) = keys(scene(settings=settings, environ={"ANTHROPIC_API_KEY": key}))

    assert finding.severity is severity
    assert key not in finding.says.split()


def test_without_a_key_and_without_a_network(scene: Make) -> None:
    """A note, and a warning."""
    settings = Settings(upstreams={"api.openai.com": "http://127.0.0.1:1"})
    (none,) = keys(scene())
    (away,) = keys(scene(settings=settings, environ={"OPENAI_API_KEY": "k"}))

    assert (none.severity, away.severity) == (Severity.NOTE, Severity.WARNING)


def test_never_by_default() -> None:
    """It is no part of the usual checks."""
    assert keys not in CHECKS
