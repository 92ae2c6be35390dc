"""A small Grafana on loopback: the routes that dashboards are put in by, with the checks the real one makes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "glsa_test"
PLUGIN = "grafana-clickhouse-datasource"


@dataclass
class FakeGrafana:
    """What it keeps."""

    url: str = ""
    has_plugin: bool = True
    datasources: dict[str, dict[str, Any]] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    dashboards: dict[str, dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """(status, document) as Grafana 12 answers."""
        match method, path.strip("/").split("/")[1:]:
            case "GET", ["health"]:
                return 200, {"database": "ok", "version": "12.3.0"}
            case "GET", ["plugins", name, "settings"]:
                return (200, {"id": name}) if self.has_plugin and name == PLUGIN else (404, {"message": "not found"})
            case method, ["datasources", *rest]:
                return self._datasource(method, rest, body)
            case method, ["folders", *rest]:
                return self._folder(method, rest, body)
            case "POST", ["dashboards", "db"]:
                return self._dashboard(body)
        return 404, {"message": "Not found"}

    def _datasource(self, method: str, rest: list[str], body: Any) -> tuple[int, Any]:
        if method == "POST":
            if body["uid"] in self.datasources:
                return 409, {"message": "data source with the same name already exists"}
            self.datasources[body["uid"]] = body
            return 200, {"datasource": body, "message": "Datasource added"}
        uid = rest[1]
        if uid not in self.datasources:
            return 404, {"message": "Data source not found"}
        if method == "PUT":
            self.datasources[uid] = body
        if method == "DELETE":
            del self.datasources[uid]
        return 200, {"uid": uid}

    def _folder(self, method: str, rest: list[str], body: Any) -> tuple[int, Any]:
        if method == "POST":
            if body["uid"] in self.folders:
                return 412, {"message": "the folder has been changed by someone else"}
            self.folders[body["uid"]] = body["title"]
            return 200, body
        if rest[0] not in self.folders:
            return 404, {"message": "folder not found"}
        if method == "DELETE":
            del self.folders[rest[0]]
            self.dashboards = {}
        return 200, {"uid": rest[0]}

    def _dashboard(self, body: Any) -> tuple[int, Any]:
        document = body["dashboard"]
        if body.get("folderUid") not in self.folders:
            return 400, {"message": "folder not found"}
        if document.get("id") is not None:
            return 404, {"message": "Dashboard not found"}
        if document["uid"] in self.dashboards and not body.get("overwrite"):
            return 412, {"message": "name-exists"}
        self.dashboards[document["uid"]] = document
        return 200, {"status": "success", "uid": document["uid"], "url": f"/d/{document['uid']}/x"}


@contextmanager
def fake_grafana() -> Iterator[FakeGrafana]:
    """Runs until the block ends. Everything but its health needs the token, or admin:admin."""
    grafana = FakeGrafana()
    allowed = (f"Bearer {TOKEN}", "Basic YWRtaW46YWRtaW4=")

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        def _serve(self) -> None:
            size = int(self.headers["Content-Length"] or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            is_in = self.headers["Authorization"] in allowed or self.path == "/api/health"
            status, document = grafana.answer(self.command, self.path, body) if is_in else (401, {"message": "no"})
            data = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        grafana.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield grafana
        finally:
            server.shutdown()
            thread.join()
