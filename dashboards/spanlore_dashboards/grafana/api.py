"""Grafana's HTTP API, as far as dashboards need it: health, data source, folder, dashboards (Grafana 11.6 and on)."""

from __future__ import annotations

import base64
import json
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import urllib3

from spanlore_dashboards.grafana.provisioning import FOLDER_TITLE, FOLDER_UID, PLUGIN, UID

TIMEOUT_S: Final = 15


class GrafanaError(RuntimeError):
    """Grafana does not answer, or refuses. The message says what to do."""


class Grafana:
    """One Grafana. Credentials by token, or in the URL."""

    def __init__(self, url: str, token: str = "") -> None:
        """Raises: GrafanaError: the URL is none."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise GrafanaError(f"{url!r} is no address of a Grafana: write http://host:3000")
        bare = parts.netloc.rpartition("@")[2]
        self.url = urlunsplit((parts.scheme, bare, parts.path.rstrip("/"), "", ""))
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif parts.username:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        self._pool = urllib3.PoolManager(headers=headers, timeout=TIMEOUT_S, retries=False)

    def version(self) -> str:
        """Grafana's version."""
        return str(self._ask("GET", "/api/health").get("version", "?"))

    def needs_plugin(self) -> bool:
        """Whether the ClickHouse datasource is missing."""
        return self._ask("GET", f"/api/plugins/{PLUGIN}/settings", none_on=(404,)) is None

    def put_datasource(self, datasource: dict[str, Any]) -> str:
        """Adds the data source, or renews it: `added` or `updated`."""
        known = self._ask("GET", f"/api/datasources/uid/{UID}", none_on=(404,))
        if known is None:
            self._ask("POST", "/api/datasources", datasource)
            return "added"
        self._ask("PUT", f"/api/datasources/uid/{UID}", datasource)
        return "updated"

    def put_folder(self) -> None:
        """The dashboards' folder; one that is there stays as it is."""
        if self._ask("GET", f"/api/folders/{FOLDER_UID}", none_on=(404,)) is None:
            self._ask("POST", "/api/folders", {"uid": FOLDER_UID, "title": FOLDER_TITLE})

    def put_dashboard(self, dashboard: dict[str, Any]) -> str:
        """Adds or replaces the dashboard; its address."""
        body = {
            "dashboard": {**dashboard, "id": None},
            "folderUid": FOLDER_UID,
            "overwrite": True,
            "message": "spanlore dashboards install",
        }
        answer = self._ask("POST", "/api/dashboards/db", body)
        return f"{self.url}{answer.get('url') or f'/d/{dashboard["uid"]}'}"

    def remove(self) -> None:
        """Takes the folder with its dashboards and the data source away again."""
        self._ask("DELETE", f"/api/folders/{FOLDER_UID}", none_on=(404,))
        self._ask("DELETE", f"/api/datasources/uid/{UID}", none_on=(404,))

    def _ask(self, method: str, path: str, body: Any = None, none_on: tuple[int, ...] = ()) -> Any:
        data = None if body is None else json.dumps(body).encode()
        try:
            answer = self._pool.request(method, self.url + path, body=data)
        except urllib3.exceptions.HTTPError as error:
            raise GrafanaError(f"{self.url} does not answer: {error}. Is Grafana running there?") from error
        if answer.status in none_on:
            return None
        if answer.status in (401, 403):
            hint = "give --token (a service account's, role Admin), or http://user:password@host:3000"
            raise GrafanaError(f"{self.url} refuses ({answer.status}): {hint}")
        if answer.status >= 400:
            told = answer.data[:300].decode("utf-8", "replace")
            raise GrafanaError(f"{self.url} answers {answer.status} to {method} {path}: {told}")
        try:
            return json.loads(answer.data or b"{}")
        except ValueError as error:
            raise GrafanaError(f"{self.url}{path} is no Grafana: its answer is no JSON") from error
