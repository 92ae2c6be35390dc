"""Applies `migrations/*.sql` in order, once each, and records their names. Nothing else in the repository makes tables.

A file may be applied again when the process died in the middle of it, so every statement in it is repeatable
(`IF NOT EXISTS`). The same files serve chDB, a server and a cluster: `${on_cluster}` becomes `ON CLUSTER name` and
`${replicated}` the prefix `Replicated`, or nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from string import Template

from clickhouse_connect.driver.client import Client

_RECORD = """
CREATE TABLE IF NOT EXISTS migrations ${on_cluster} (name String, applied_at DateTime64(3) DEFAULT now64(3))
ENGINE = ${replicated}MergeTree ORDER BY name
"""


def migrate(client: Client, database: str, cluster: str = "") -> list[str]:
    """Brings the database to the newest migration; returns the names it applied now, none when it was up to date.

    `client` may stand in any database; it is left in `database`.
    """
    words = {"on_cluster": f"ON CLUSTER `{cluster}`" if cluster else "", "replicated": "Replicated" if cluster else ""}
    client.database = "default"
    client.command(Template(f"CREATE DATABASE IF NOT EXISTS `{database}` ${{on_cluster}}").substitute(words))
    client.database = database
    client.command(Template(_RECORD).substitute(words))
    known = {row[0] for row in client.query("SELECT name FROM migrations").result_rows}
    applied = []
    for name, sql in migrations():
        if name in known:
            continue
        for statement in statements(sql):
            client.command(Template(statement).substitute(words))
        client.insert("migrations", [[name]], column_names=["name"])
        applied.append(name)
    return applied


def migrations() -> Iterator[tuple[str, str]]:
    """(name, SQL) of every migration, in order."""
    folder = files("spanlore_collector.store") / "migrations"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".sql"):
            yield file.name.removesuffix(".sql"), file.read_text()


def statements(sql: str) -> list[str]:
    """The statements of a file. Comments stand on lines of their own and `;` only at the end of a statement's line."""
    lines = [line for line in sql.splitlines() if not line.lstrip().startswith("--")]
    return [text for part in "\n".join(lines).split(";\n") if (text := part.strip(" \n;"))]
