"""A daemon's process for tests: `python -m support.stand_in …`. It answers every request with 200 and ends on SIGTERM.

Answers on the ports given with `--port` and on the socket given with `--listen-fd`; with `--fail` it exits at once.
`GET /pid` gives its process id.
"""

import argparse
import os
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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
    options = parser.parse_args()
    if options.fail:
        sys.exit("stand-in: told to fail")
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
