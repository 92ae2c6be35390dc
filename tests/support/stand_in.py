"""A daemon's process for tests: `python -m support.stand_in …`. It answers every request with 200 and ends on SIGTERM.

Answers on the ports given with `--port` and on the socket given with `--listen-fd`; with `--fail` it exits at once.
With `--opening FILE` it first tells there that it opens a store, `--steps` times, `--pause` seconds apart.
`GET /pid` gives its process id.
"""

import argparse
import os
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from spanlore import opening


class Handler(BaseHTTPRequestHandler):
    """200 to everything."""

    def do_GET(self) -> None:
        body = str(os.getpid()).encode() if self.path == "/pid" else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""


def main() -> None:
    """Serves until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, action="append", default=[])
    parser.add_argument("--listen-fd", type=int)
    parser.add_argument("--fail", action="store_true")
    parser.add_argument("--opening", type=Path)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--pause", type=float, default=0.0)
    options = parser.parse_args()
    if options.fail:
        sys.exit("stand-in: told to fail")
    for step in range(options.steps if options.opening else 0):
        opening.tell(options.opening, "opening the store", step, options.steps)
        time.sleep(options.pause)
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    servers = [ThreadingHTTPServer(("127.0.0.1", port), Handler) for port in options.port]
    if options.listen_fd is not None:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        server.socket.close()
        server.socket = socket.socket(fileno=options.listen_fd)
        servers.append(server)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    ended.wait()


if __name__ == "__main__":
    main()
