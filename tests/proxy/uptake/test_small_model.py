"""The small model's server is started and ended. (A script in its place: the model itself is not part of the tests.)"""

import sys
import urllib.request
from pathlib import Path

import pytest

from spanlore_proxy.uptake.small_model import MODEL_FILE, SERVER_FILE, NoModelError, running

SERVER = """
import http.server, sys
assert sys.argv[1:] == ["--attended", "--model", "model.gguf"]
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(f"listening at http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


def installed(folder: Path, server: str) -> Path:
    """A folder as `make small-model` leaves it."""
    (folder / SERVER_FILE).write_text(server)
    (folder / MODEL_FILE).write_bytes(b"GGUF")
    return folder


def test_it_runs_for_as_long_as_it_is_needed(tmp_path: Path) -> None:
    """From its folder, and no longer."""
    with (
        running(installed(tmp_path, SERVER), node=sys.executable) as url,
        urllib.request.urlopen(f"{url}/{MODEL_FILE}", timeout=300) as response,
    ):
        assert response.read() == b"GGUF"

    with pytest.raises(OSError), urllib.request.urlopen(url, timeout=5):
        pass


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    """With the command that installs it."""
    with pytest.raises(NoModelError, match="make small-model"), running(tmp_path):
        pass


@pytest.mark.parametrize(
    ("server", "node", "message"),
    [("raise SystemExit(3)", sys.executable, "did not start"), (SERVER, "/nowhere/node", "can't be started")],
)
def test_a_server_that_does_not_start_is_told(tmp_path: Path, server: str, node: str, message: str) -> None:
    """Never a silent wait."""
    with pytest.raises(NoModelError, match=message), running(installed(tmp_path, server), node=node):
        pass
