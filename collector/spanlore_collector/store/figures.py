"""What the store holds, in numbers."""

from __future__ import annotations

from typing import Any

from clickhouse_connect.driver.client import Client


def figures_of(client: Client) -> dict[str, Any]:
    """{engine_version, migrations, tables: {name: {rows, bytes, parts}}, content_bytes}.

    Rows, and the bytes of all texts before they are packed, count what merges have yet to remove.
    """
    parts = client.query(
        "SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts "
        "WHERE active AND database = currentDatabase() GROUP BY table ORDER BY table"
    ).result_rows
    content = client.query("SELECT sum(bytes) FROM texts").result_rows
    names = client.query("SELECT name FROM migrations ORDER BY name").result_rows
    return {
        "engine_version": client.server_version,
        "migrations": [row[0] for row in names],
        "content_bytes": int(content[0][0]),
        "tables": {row[0]: {"rows": row[1], "bytes": row[2], "parts": row[3]} for row in parts},
    }
