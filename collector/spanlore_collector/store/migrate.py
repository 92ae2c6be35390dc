"""Applies `migrations/*.sql` in order, once each, and records their names. Nothing else in the repository makes tables.

A file may be applied again when the process died in the middle of it, so every statement in it is repeatable
(`IF NOT EXISTS`). The same files serve chDB, a server and a cluster (`cluster`): `${on_cluster}` becomes
`ON CLUSTER name`, `${replicated}` the prefix `Replicated`, `${search_index}` the best index for words that the engine
has, or nothing. They make tables and move no rows, which takes its time: see `backfill`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

from clickhouse_connect.driver.client import Client

from spanlore_collector.store.backfill import set_aside, show_both
from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.cluster import on_cluster, statements_for

TEXTS = "0041_texts"
"""The migration that makes a view of the table `content`."""
_RECORD = """
CREATE TABLE IF NOT EXISTS migrations ${on_cluster} (name String, applied_at DateTime64(3) DEFAULT now64(3))
ENGINE = ${replicated}MergeTree ORDER BY name
"""


def migrate(
    client: Client,
    database: str,
    cluster: str = "",
    tell: Callable[[str, int, int], None] = lambda name, done, of: None,
) -> list[str]:
    """Brings the database to the newest migration; returns the names it applied now, none when it was up to date.

    `client` may stand in any database; it is left in `database`. `tell` hears a migration's name before each statement,
    how many are done, and of how many.
    """
    version = client.server_version or ""
    client.database = "default"
    client.command(f"CREATE DATABASE IF NOT EXISTS `{database}` {on_cluster(cluster)}")
    client.database = database
    for text in statements_for(_RECORD.strip(), database, cluster, version):
        client.command(text)
    known = applied(client)
    waiting = [(name, statements(sql)) for name, sql in migrations() if name not in known]
    done, of = 0, sum(len(some) for _, some in waiting)
    for name, some in waiting:
        for statement in some:
            tell(name, done, of)
            done += 1
            if name == TEXTS and "VIEW content" in statement:
                set_aside(client, cluster)
            for text in statements_for(statement, database, cluster, version):
                client.command(text)
        if name == TEXTS:
            show_both(client)
        client.insert("migrations", [[name]], column_names=["name"])
    return [name for name, _ in waiting]


MIN_ROOM_BYTES = 32 * 1024**2
"""Many times what the tables' descriptions take."""


def refuse_without_room(client: Client, database: str, folder: Path) -> None:
    """For the embedded engine, before `migrate`: on a full disk it writes empty descriptions of tables over those that
    were there, without an error, and can't open the store any more.

    Raises:
        StoreUnavailableError: there is something to migrate and no room for it.
    """
    asked = "SELECT count() FROM system.tables WHERE database = {database:String} AND name = 'migrations'"
    is_there = client.query(asked, {"database": database}).result_rows[0][0]
    rows = client.query(f"SELECT name FROM `{database}`.migrations").result_rows if is_there else ()
    known, free = {row[0] for row in rows}, shutil.disk_usage(folder).free
    if free < MIN_ROOM_BYTES and any(name not in known for name, _ in migrations()):
        raise StoreUnavailableError(
            f"only {free // 10**6} MB are free for {folder}, and the store has to be brought to this version: make "
            f"room ({MIN_ROOM_BYTES // 10**6} MB at least). It was left as it is."
        )


def applied(client: Client) -> set[str]:
    """Names of the migrations that are recorded."""
    return {row[0] for row in client.query("SELECT name FROM migrations").result_rows}


def script(database: str, cluster: str, version: str) -> str:
    """All migrations as the SQL that would be run, for whoever may not let a program make tables."""
    texts = [f"CREATE DATABASE IF NOT EXISTS `{database}` {on_cluster(cluster)}".strip()]
    for statement in [_RECORD.strip(), *(one for _, sql in migrations() for one in statements(sql))]:
        texts += statements_for(statement, database, cluster, version)
    return "".join(f"{text};\n\n" for text in texts)


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
