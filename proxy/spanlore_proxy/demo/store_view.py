"""What the demonstration reads back, by everybody's two doors: the ClickHouse port and the collector's API."""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

from spanlore.memory.memory import Memory, memory_from_json
from spanlore.settings import Paths
from spanlore_proxy.demo.stage import StageError

WAIT_S = 120.0


class StoreView:
    """A running daemon's store, read only."""

    def __init__(self, paths: Paths) -> None:
        daemon = json.loads(paths.daemon_file.read_bytes())
        self._token = paths.token()
        self._collector = f"http://127.0.0.1:{daemon['collector_port']}"
        self._clickhouse = f"http://127.0.0.1:{daemon['clickhouse_port']}"
        # Loopback must not go through a proxy that happens to stand in the environment.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def rows(self, sql: str, **parameters: str) -> list[dict[str, Any]]:
        """Rows of a query; `{name:String}` in it is `parameters['name']`.

        Raises:
            StageError: the daemon is down or refused the query.
        """
        query = {"database": "spanlore", "default_format": "JSONEachRow"}
        query |= {f"param_{name}": value for name, value in parameters.items()}
        credentials = base64.b64encode(f"spanlore:{self._token}".encode()).decode()
        url = f"{self._clickhouse}/?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, sql.encode(), {"Authorization": f"Basic {credentials}"})
        return [json.loads(line) for line in self._read(request).splitlines() if line]

    def memories(self) -> list[Memory]:
        """All memories, whatever their status."""
        request = urllib.request.Request(
            f"{self._collector}/v1/memories", headers={"Authorization": f"Bearer {self._token}"}
        )
        data = json.loads(self._read(request))
        return [memory_from_json(item) for item in (data["memories"] if isinstance(data, dict) else data)]

    def _read(self, request: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(request, timeout=30) as response:
                return bytes(response.read())
        except urllib.error.HTTPError as error:
            with error:
                raise StageError(f"the daemon answered {error.code}: {error.read()[:500]!r}") from None
        except OSError as error:
            raise StageError(f"the daemon does not answer: {error}") from None

    def wait_for_inferences(self, number: int) -> bool:
        """Waits until so many requests that carry tools are stored; False when they do not come."""
        sql = "SELECT uniqExact(span_id) AS n FROM inferences WHERE call_class IN ('main', 'subagent')"
        return wait_until(lambda: int(self.rows(sql)[0]["n"]) >= number)


def wait_until(condition: Callable[[], bool], patience_s: float = WAIT_S) -> bool:
    """Polls until the condition holds; False when it never did."""
    end = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
