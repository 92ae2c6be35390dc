"""`python -m support.upgrading WORDS COUNT`: the collector, moving what an older version stored in small pieces, killed
(kill -9) before the COUNT-th statement of its writing connection in which WORDS stand.

An insert of rows counts as `INSERT INTO table`. With a COUNT of 0 it lives on.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Final

from clickhouse_connect.driver.client import Client

from spanlore_collector import __main__ as collector
from spanlore_collector import service
from spanlore_collector.store import backfill
from spanlore_collector.store.migrate import migrate

PIECE_SPANS: Final = 20
PIECE_BYTES: Final = 30_000


def die_before(client: Client, words: str, count: int) -> None:
    """Makes a connection end the process instead of one statement."""
    command, insert, left = client.command, client.insert, count

    def seen(sql: str) -> None:
        nonlocal left
        if words in sql:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def mortal_command(cmd: str, *args: Any, **named: Any) -> Any:
        seen(cmd)
        return command(cmd, *args, **named)

    def mortal_insert(table: str, *args: Any, **named: Any) -> Any:
        seen(f"INSERT INTO {table}")
        return insert(table, *args, **named)

    vars(client).update(command=mortal_command, insert=mortal_insert)


def main(words: str, count: str) -> int:
    """Runs the collector."""

    def migrate_mortally(client: Client, *args: Any) -> list[str]:
        die_before(client, words, int(count))
        return migrate(client, *args)

    vars(backfill).update(PIECE_SPANS=PIECE_SPANS, PIECE_BYTES=PIECE_BYTES)
    vars(service).update(migrate=migrate_mortally)
    return collector.main()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
