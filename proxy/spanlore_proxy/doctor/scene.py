"""What the doctor looks at, gathered once: files, the running daemon, its own words, and the store by SQL."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from spanlore.settings import Paths, Settings
from spanlore_proxy.launch.daemon import Daemon, is_held, running_daemon
from spanlore_proxy.launch.ports import HOST
from spanlore_proxy.launch.status import collector_status, proxy_status

PATIENCE_S: Final = 10.0


class StoreSilentError(RuntimeError):
    """The store gave no rows. The message says why."""


@dataclass(frozen=True, slots=True)
class Scene:
    """All that the checks go by."""

    paths: Paths
    settings: Settings
    environ: Mapping[str, str]
    """Of the shell the doctor was called in."""
    now_ns: int
    daemon: Daemon | None = None
    is_starting: bool = False
    proxy: Mapping[str, Any] = field(default_factory=dict)
    """`proxy-status.json`."""
    collector: Mapping[str, Any] = field(default_factory=dict)
    """`GET /v1/status`, or `{"error": why}`; empty without a daemon."""
    arrived: Mapping[str, Any] = field(default_factory=dict)
    """`GET /v1/completeness`, the same way."""

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Rows of a query on the store: by the daemon's ClickHouse interface, or on the server the settings name.

        Raises:
            StoreSilentError: there is no daemon, or it does not answer, or it refuses the query.
        """
        url, user, password, database = self._store()
        query = urllib.parse.urlencode({"database": database, "default_format": "JSONEachRow"})
        credentials = base64.b64encode(f"{user}:{password}".encode()).decode()
        request = urllib.request.Request(f"{url}/?{query}", sql.encode(), {"Authorization": f"Basic {credentials}"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE_S) as answer:
                return [json.loads(line) for line in answer.read().splitlines() if line]
        except urllib.error.HTTPError as error:
            with error:
                raise StoreSilentError(error.read()[:200].decode("utf-8", "replace")) from None
        except (OSError, ValueError) as error:
            raise StoreSilentError(str(getattr(error, "reason", error))) from None

    def _store(self) -> tuple[str, str, str, str]:
        """(URL, user, password, database)."""
        if self.settings.clickhouse_url:
            parts = urllib.parse.urlsplit(self.settings.clickhouse_url)
            bare = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            user, password = (urllib.parse.unquote(word or "") for word in (parts.username, parts.password))
            return bare, user or "default", password, parts.path.strip("/") or "spanlore"
        if self.daemon is None:
            raise StoreSilentError("the daemon is not running")
        return f"http://{HOST}:{self.daemon.clickhouse_port}", "spanlore", self.paths.token(), "spanlore"


def look(paths: Paths, settings: Settings, environ: Mapping[str, str], now_ns: int) -> Scene:
    """Gathers what is there now. Nothing is started or changed."""
    daemon = running_daemon(paths)
    return Scene(
        paths=paths,
        settings=settings,
        environ=environ,
        now_ns=now_ns,
        daemon=daemon,
        is_starting=daemon is None and is_held(paths),
        proxy=proxy_status(paths),
        collector=collector_status(daemon, paths) if daemon else {},
        arrived=collector_status(daemon, paths, "/v1/completeness") if daemon else {},
    )
