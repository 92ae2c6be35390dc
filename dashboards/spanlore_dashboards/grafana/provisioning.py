"""Files that a Grafana reads when it starts: the data source, and where the dashboards are.

Facts: Grafana's documentation on provisioning; the plugin's jsonData (grafana-clickhouse-datasource 4.x).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import yaml

JSON_FOLDER: Final = Path(__file__).parent / "json"
PLUGIN: Final = "grafana-clickhouse-datasource"
UID: Final = "spanlore"
FOLDER_UID: Final = "spanlore"
FOLDER_TITLE: Final = "spanlore"


@dataclass(frozen=True, slots=True)
class Store:
    """Where the data source asks."""

    host: str
    port: int
    user: str
    password: str
    database: str
    secure: bool = False

    @classmethod
    def of(cls, url: str) -> Store:
        """Of `http(s)://user:password@host:port/database`.

        Raises:
            ValueError: it has no host.
        """
        parts = urlsplit(url)
        if not parts.hostname:
            raise ValueError(f"{url!r} has no host")
        secure = parts.scheme == "https"
        return cls(
            host=parts.hostname,
            port=parts.port or (8443 if secure else 8123),
            user=unquote(parts.username or "default"),
            password=unquote(parts.password or ""),
            database=parts.path.strip("/") or "spanlore",
            secure=secure,
        )


def datasource(store: Store) -> dict[str, Any]:
    """The data source, as the API and a provisioning file have it; OTel mode is on for traces and logs."""
    return {
        "name": "spanlore",
        "uid": UID,
        "type": PLUGIN,
        "access": "proxy",
        "jsonData": {
            "host": store.host,
            "port": store.port,
            "protocol": "http",
            "secure": store.secure,
            "username": store.user,
            "defaultDatabase": store.database,
            "defaultTable": "otel_traces",
            "traces": {
                "defaultDatabase": store.database,
                "defaultTable": "otel_traces",
                "otelEnabled": True,
                "otelVersion": "latest",
                "durationUnit": "nanoseconds",
            },
            "logs": {
                "defaultDatabase": store.database,
                "defaultTable": "otel_logs",
                "otelEnabled": True,
                "otelVersion": "latest",
            },
        },
        "secureJsonData": {"password": store.password},
    }


def files(store: Store, dashboards_path: str) -> Iterator[tuple[str, str]]:
    """(name, content) below Grafana's provisioning directory; the password stands in the first of them."""
    yield "datasources/spanlore.yaml", _yaml({"apiVersion": 1, "datasources": [datasource(store)]})
    provider = {
        "name": "spanlore",
        "folder": FOLDER_TITLE,
        "folderUid": FOLDER_UID,
        "type": "file",
        "allowUiUpdates": False,
        "options": {"path": dashboards_path},
    }
    yield "dashboards/spanlore.yaml", _yaml({"apiVersion": 1, "providers": [provider]})


def dashboard_files() -> list[Path]:
    """The dashboards' JSON, as it came with spanlore."""
    return sorted(JSON_FOLDER.glob("*.json"))


def _yaml(data: dict[str, Any]) -> str:
    return f"# Made by `spanlore dashboards export`.\n{yaml.safe_dump(data, sort_keys=False)}"
