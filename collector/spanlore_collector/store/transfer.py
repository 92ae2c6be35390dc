"""Copies a whole store, chunk by chunk and checked: to another store, to files, and back from files.

A chunk is a partition of a table, or a part of one that is larger than `CHUNK_BYTES`; within a large partition rows are
told apart by a hash of the whole row. Rows go as they are, in the engine's own Native format (or Parquet, for other
readers), and carry a deduplication token, so a repeated chunk changes nothing on a store that remembers it. Afterwards
each table is compared: number of rows, and the sum of the hashes of all rows.

`otel_traces_trace_id_ts` is not copied: its view fills it again. `migrations` belong to the store they were applied to.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import Error as EngineError

from spanlore import private_file
from spanlore_collector.store.backfill import fill_facts

__all__ = ["Chunk", "Connection", "EngineError", "TableSum", "TransferError", "copy", "export", "load", "sums"]

type Connection = Client

CHUNK_BYTES = 64 * 1024**2
"""Uncompressed; about what one chunk needs in memory, twice."""
MANIFEST = "manifest.json"
FORMATS = {"native": "Native", "parquet": "Parquet"}
FACTS = "session_facts"
_NOW_NAMED = {"content": "texts"}
"""Tables of older exports → where their rows are now."""
_NOT_COPIED = ("migrations", "backfills", "otel_traces_trace_id_ts")
_ROW_HASH = "cityHash64(toString(tuple(*)))"
_NOT_COMPARED = ("ingested_at", "first_seen")
"""When a row was written: of two rows that are one, it is left open which of them a merge keeps."""


class TransferError(RuntimeError):
    """The copy can't be made or is not the same. The message says what to do."""


@dataclass(frozen=True, slots=True)
class TableSum:
    """What a table holds."""

    table: str
    rows: int
    checksum: int
    """Sum of the hashes of all rows, modulo 2**64."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a table."""

    table: str
    where: str
    rows: int
    size_bytes: int
    """Uncompressed, estimated for parts of a partition."""


type Progress = Callable[[Chunk], None]


def copy(source: Client, target: Client, progress: Progress = lambda chunk: None) -> list[TableSum]:
    """Copies every table into an empty, migrated store; returns what was compared and found equal.

    Raises:
        TransferError: the target holds rows of its own, or something differs afterwards.
    """
    _refuse_rows(target)
    for chunk in chunks(source):
        data = source.raw_query(f"SELECT * FROM {chunk.table} WHERE {chunk.where}", fmt="Native")
        _put(target, chunk.table, data, "Native")
        progress(chunk)
    return _compare(sums(source), sums(target))


def export(source: Client, folder: Path, form: str = "native", progress: Progress = lambda chunk: None) -> Path:
    """Writes every table into files of `folder`, which must be empty or new, and a manifest; returns its path.

    Raises:
        TransferError: the folder holds something.
        OSError: it can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if any(folder.iterdir()):
        raise TransferError(f"{folder} is not empty. Name a new folder.")
    written: list[dict[str, Any]] = []
    for number, chunk in enumerate(chunks(source)):
        data = source.raw_query(f"SELECT * FROM {chunk.table} WHERE {chunk.where}", fmt=FORMATS[form])
        name = f"{number:05d}.{chunk.table}.{form}"
        private_file.write(folder / name, data)
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        written.append({"file": name, "table": chunk.table, "rows": chunk.rows, "blake2b": digest})
        progress(chunk)
    manifest = {
        "format": form,
        "engine_version": source.server_version,
        "tables": [asdict(found) for found in sums(source)],
        "files": written,
    }
    # Last, so that a folder with a manifest is whole.
    private_file.write(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
    return folder / MANIFEST


def load(
    folder: Path, target: Client, progress: Callable[[str, int], None] = lambda name, rows: None
) -> list[TableSum]:
    """Reads an export into an empty, migrated store; returns what was compared and found equal.

    Raises:
        TransferError: no whole export, a damaged file, rows in the target, or a difference afterwards.
    """
    manifest = _manifest(folder)
    _refuse_rows(target)
    tables = set(tables_of_store(target))
    for file in manifest["files"]:
        # An export may come from anybody, and a table's name goes into a statement as it is.
        if Path(file["file"]).name != file["file"] or _NOW_NAMED.get(file["table"], file["table"]) not in tables:
            raise TransferError(f"{folder / MANIFEST} names a file elsewhere, or a table that no store has.")
        data = (folder / file["file"]).read_bytes()
        if hashlib.blake2b(data, digest_size=16).hexdigest() != file["blake2b"]:
            raise TransferError(f"{folder / file['file']} is damaged: its content is not what was exported.")
        _put(target, _NOW_NAMED.get(file["table"], file["table"]), data, FORMATS[manifest["format"]])
        progress(file["file"], file["rows"])
    if FACTS not in {found["table"] for found in manifest["tables"]}:
        fill_facts(target)  # an export of before that table was
    wanted = [TableSum(**found) for found in manifest["tables"]]
    return _compare([replace(one, table=_NOW_NAMED.get(one.table, one.table)) for one in wanted], sums(target))


def tables_of_store(client: Client) -> list[str]:
    """The tables that are copied, by the name rows are read and written under."""
    sql = "SELECT name, engine FROM system.tables WHERE database = currentDatabase() ORDER BY name"
    engines = {row[0]: row[1] for row in client.query(sql).result_rows}
    return [
        name
        for name, engine in engines.items()
        if name not in _NOT_COPIED
        and (engine == "Distributed" or (engine.endswith("MergeTree") and not name.endswith("_local")))
    ]


def sums(client: Client) -> list[TableSum]:
    """Rows and checksum of every table. Reads the whole store."""
    found = []
    for table in tables_of_store(client):
        sql = "SELECT name FROM system.columns WHERE database = currentDatabase() AND table = {t:String} ORDER BY name"
        names = [row[0] for row in client.query(sql, parameters={"t": table}).result_rows]
        compared = ", ".join(f"`{name}`" for name in names if name not in _NOT_COMPARED)
        final = "FINAL" if _is_replacing(client, table) else ""
        sql = f"SELECT count(), sum(cityHash64(toString(tuple({compared})))) FROM {table} {final}"
        rows, checksum = client.query(sql).result_rows[0]
        found.append(TableSum(table, int(rows), int(checksum or 0)))
    return found


def _is_replacing(client: Client, table: str) -> bool:
    """Whether merges make one row of two with the same key."""
    sql = (
        "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name IN ({t:String}, {l:String}) "
        "AND engine LIKE '%Replacing%'"
    )
    return bool(client.query(sql, parameters={"t": table, "l": f"{table}_local"}).result_rows[0][0])


def chunks(client: Client) -> Iterator[Chunk]:
    """All rows of all tables, in pieces of bounded size."""
    for table in tables_of_store(client):
        counts = f"SELECT _partition_id, count() FROM {table} GROUP BY 1 ORDER BY 1"
        for partition, rows in client.query(counts).result_rows:
            size = client.query(
                "SELECT sum(data_uncompressed_bytes) FROM system.parts WHERE active AND database = currentDatabase() "
                f"AND table IN ('{table}', '{table}_local') AND partition_id = '{partition}'"
            ).result_rows[0][0]
            pieces = max(1, -(-int(size or 0) // CHUNK_BYTES))
            for piece in range(pieces):
                where = f"_partition_id = '{partition}'"
                if pieces > 1:
                    where += f" AND {_ROW_HASH} % {pieces} = {piece}"
                yield Chunk(table, where, int(rows) // pieces, int(size or 0) // pieces)


def _put(target: Client, table: str, data: bytes, form: str) -> None:
    if data:
        token = hashlib.blake2b(data, digest_size=16).hexdigest()
        target.raw_insert(
            table, insert_block=io.BytesIO(data), fmt=form, settings={"insert_deduplication_token": token}
        )


def _refuse_rows(target: Client) -> None:
    held = [found.table for found in sums(target) if found.rows]
    if held:
        raise TransferError(
            f"the target holds rows already, in {', '.join(held)}. Name an empty database: rows of two stores can't be "
            "told apart afterwards."
        )


def _compare(wanted: list[TableSum], found: list[TableSum]) -> list[TableSum]:
    there = {one.table: one for one in found}
    wrong = [
        f"{one.table}: {one.rows} rows, not {there[one.table].rows if one.table in there else 'any'}"
        for one in wanted
        if there.get(one.table) != one and (one.rows or one.table in there)
    ]
    if wrong:
        raise TransferError(
            f"the copy is not the same as its source ({'; '.join(wrong)}). The source is untouched; drop the target "
            "and try again."
        )
    return wanted


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_bytes())
        assert isinstance(manifest["files"], list) and manifest["format"] in FORMATS
    except (OSError, ValueError, KeyError, TypeError, AssertionError):
        raise TransferError(f"{folder} is no whole export: its {MANIFEST} is missing or can't be read.") from None
    return manifest
