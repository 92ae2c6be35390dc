"""`python -m spanlore_collector.bench.disk DIR SESSIONS`: what sessions cost on disk, after merges. Prints JSON.

Each session is written twice into stores of their own: as the proxy sends it, only what is new in each request, and as
a sender that repeats the whole history in every request. What tools answer and models say is real text, pieces of
Python's own library, since made-up words compress as no session does. `content_bytes` is the distinct text of the
sessions; disk is all bytes of all tables' active parts.
"""

from __future__ import annotations

import json
import random
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord
from spanlore_collector.bench.sample import Speech, sample_spans
from spanlore_collector.store.client import Store
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.migrate import migrate
from spanlore_collector.store.retention import compact
from spanlore_collector.store.rows import rows_of

SPANS_PER_SESSION = 48
_NOW_MS = 1_790_000_000_000


def main(folder: str, sessions: str) -> None:
    """Measures and prints."""
    records = sample_spans(int(sessions) * SPANS_PER_SESSION, seed=5, text=library_text())
    store = Store(f"chdb://{folder}")
    client = store.connect(database="default")
    found: dict[str, Any] = {}
    for name, spans in (("new", records), ("resent", list(resent(records)))):
        migrate(client, name)
        inserter = Inserter(client)
        for start in range(0, len(spans), 512):
            # Requests come one after the other: content lies in the order in which it came.
            inserter.insert([[rows_of(span, _NOW_MS + start) for span in spans[start : start + 512]]])
        for _ in compact(client):
            pass
        parts = (
            "SELECT table, sum(bytes_on_disk), sum(secondary_indices_compressed_bytes) FROM system.parts "
            "WHERE active AND database = currentDatabase() GROUP BY table"
        )
        sizes = {row[0]: (int(row[1]), int(row[2])) for row in client.query(parts).result_rows}
        (content,) = client.query(
            "SELECT sum(bytes) FROM (SELECT any(bytes) AS bytes FROM content GROUP BY hash)"
        ).result_rows
        sent = sum(len(value) for span in spans for value in span.attributes.values() if isinstance(value, str))
        found[name] = {
            "disk_bytes": sum(size for size, _ in sizes.values()),
            "search_index_bytes": sizes["texts"][1],
            "content_bytes": int(content[0]),
            "sent_bytes": sent,
            "tables": {table: size for table, (size, _) in sizes.items()},
        }
    client.close()
    sys.stdout.write(json.dumps(found) + "\n")


def library_text() -> Speech:
    """Gives pieces of the standard library's source, one after the other."""
    files = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    source = "".join(file.read_text(errors="replace") for file in files)
    at = 0

    def next_piece(_: random.Random, size: int) -> str:
        nonlocal at
        start = at % (len(source) - size)
        at += size
        return source[start : start + size]

    return next_piece


def resent(records: Sequence[SpanRecord]) -> Iterator[SpanRecord]:
    """The same spans, each chat with all messages of its session before it."""
    history: dict[str, list[Any]] = {}
    for record in records:
        attributes = dict(record.attributes)
        if attributes.get(gen_ai.OPERATION_NAME) != gen_ai.OP_CHAT:
            yield record
            continue
        messages = history.setdefault(str(attributes[lore.SESSION_ID]), [])
        messages += orjson.loads(str(attributes.get(gen_ai.INPUT_MESSAGES, "[]")))
        attributes[gen_ai.INPUT_MESSAGES] = orjson.dumps(messages).decode()
        attributes[lore.INPUT_NEW_FROM] = 0
        messages += orjson.loads(str(attributes.get(gen_ai.OUTPUT_MESSAGES, "[]")))
        yield replace(record, attributes=attributes)


if __name__ == "__main__":
    main(*sys.argv[1:])
