"""`spanlore store …`: the store itself, by hand. The embedded store belongs to one process at a time: while the daemon
runs, `status` and `compact` go through it, and the others say that it must be stopped first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from spanlore.ending import NOT_RUNNING, USAGE, fail
from spanlore.figures import size
from spanlore.main import group
from spanlore.terminal import tell, write

if TYPE_CHECKING:
    from spanlore.settings import Settings
    from spanlore_collector.store.backfill import Progress
    from spanlore_collector.store.client import Store
    from spanlore_collector.store.transfer import Connection

_JSON = typer.Option(False, "--json", help="One JSON object on the last line.")


def register(app: typer.Typer) -> None:
    """Adds the group `store`."""
    made = group(app, "store", "The store: migrations, sizes, retention, copies.")
    made.command("status")(status)
    made.command("migrate")(migrate)
    made.command("retention")(retention)
    made.command("compact")(compact)
    made.command("export")(export)
    made.command("import")(import_)
    made.command("move")(move)


def status(as_json: bool = _JSON) -> None:
    """Tables with rows, bytes and age; migrations that are applied and that wait."""
    from spanlore_collector.store.migrate import migrations

    found = _from_daemon("GET", "/v1/status")
    if found is not None:
        store = found["store"]
    else:
        from spanlore_collector.store.figures import figures_of

        with _client() as (client, where, _):
            store = {"url": where.label, **figures_of(client)}
    names = [name for name, _ in migrations()]
    store["migrations_waiting"] = [name for name in names if name not in store["migrations"]]
    _line(as_json, f"{store['url']}, ClickHouse {store['engine_version']}")
    _line(as_json, f"  {'table':<36}{'rows':>14}{'on disk':>12}{'parts':>8}")
    for table, held in store["tables"].items():
        _line(as_json, f"  {table:<36}{held['rows']:>14,}{size(held['bytes']):>12}{held['parts']:>8}")
    if content := store.get("content_bytes"):
        on_disk = sum(held["bytes"] for held in store["tables"].values())
        _line(
            as_json,
            f"  {size(content)} of content; all tables take {size(on_disk)}, {on_disk / content:.2f} bytes for each",
        )
    for table, share in store.get("filling", {}).items():
        _line(as_json, f"  {table} is being filled with what an older version stored: {share:.0%}")
    if failure := store.get("filling_failure"):
        _line(as_json, f"  the last step of that failed, and is tried again: {failure}")
    waiting = ", ".join(store["migrations_waiting"]) or "none"
    _line(as_json, f"  migrations: {len(store['migrations'])} applied, waiting: {waiting}")
    _finish(store, as_json=as_json)


def migrate(
    cluster: str = typer.Option("", help="Name of the cluster; empty: what the settings say."),
    show: bool = typer.Option(False, "--show", help="Print the SQL of all migrations and change nothing."),
    as_json: bool = _JSON,
) -> None:
    """Bring the tables to this version's shape. The daemon does it when it starts."""
    from spanlore_collector.store import backfill, descriptions
    from spanlore_collector.store import migrate as migrating

    settings = _settings()
    name = cluster or settings.collector.cluster
    if show:
        from spanlore_collector.store.client import DATABASE

        typer.echo(migrating.script(DATABASE, name, "26.9"), nl=False)
        return
    with _client(is_new=True) as (client, where, _):
        if where.path:
            migrating.refuse_without_room(client, where.database, where.path)
        with descriptions.kept(where.path):
            applied = migrating.migrate(client, where.database, name)
        backfill.fill(client, _tell_filling, name)
    _line(as_json, "\n".join(f"applied {one}" for one in applied) or "nothing to apply: the store is up to date")
    _finish({"applied": applied}, as_json=as_json)


def retention(
    apply: bool = typer.Option(False, "--apply", help="Set the tables' TTLs now; the daemon does it when it starts."),
    as_json: bool = _JSON,
) -> None:
    """How long each table keeps its rows, and what the settings say. Set with `[retention]` in config.toml."""
    from spanlore_collector.store.retention import RAW, Retention, apply_retention, ttls

    settings = _settings()
    wanted = Retention(settings.retention.raw_days, settings.retention.rows_days)
    changed: list[str] = []
    with _client() as (client, _, cluster):
        if apply:
            changed = apply_retention(client, wanted, cluster)
        now = dict(ttls(client, cluster))
    rows: list[dict[str, Any]] = [
        {
            "table": table,
            "tier": "raw" if table in RAW else "rows",
            "days": days,
            "days_by_settings": wanted.days_of(table),
        }
        for table, days in now.items()
    ]
    _line(as_json, f"{'table':<36}{'tier':<6}{'kept':>12}{'by settings':>14}")
    for row in rows:
        kept = _kept(row["days"])
        _line(as_json, f"{row['table']:<36}{row['tier']:<6}{kept:>12}{_kept(row['days_by_settings']):>14}")
    if changed:
        _line(as_json, f"changed: {', '.join(changed)}; rows go with the next merges")
    _finish({"tables": rows, "changed": changed}, as_json=as_json)


def compact(as_json: bool = _JSON) -> None:
    """Merge every table to one part a partition and delete content that nothing names. Minutes on a large store."""
    from spanlore_collector.store.retention import compact as merge
    from spanlore_collector.store.retention import prune_content

    done = _from_daemon("POST", "/v1/store/compact", timeout_s=3600)
    if done is None:
        tables: list[str] = []
        left: list[str] = []
        with _client() as (client, _, cluster):
            gone = prune_content(client, cluster)
            for table in merge(client, cluster, left):
                tell(f"merging {table}")
                tables.append(table)
        done = {"tables": tables, "too_large": left, "content_deleted": gone}
    merged = len(done["tables"]) - len(done["too_large"])
    _line(as_json, f"{merged} tables merged, {done['content_deleted']} rows of content deleted")
    if done["too_large"]:
        _line(as_json, "left in several parts, since the embedded engine has not the memory for one:")
        for table in done["too_large"]:
            _line(as_json, f"  {table}")
        _line(as_json, "That is no harm: they are read as before, and merged by themselves as far as")
        _line(as_json, "there is memory for it.")
    _finish(done, as_json=as_json)


def export(
    folder: Path = typer.Argument(..., metavar="DIR", help="New or empty folder."),
    form: str = typer.Option("native", "--format", help="native (exact, compact) or parquet (for other readers)."),
    as_json: bool = _JSON,
) -> None:
    """Write the whole store into files, with a manifest that `import` checks."""
    from spanlore_collector.store import transfer

    if form not in transfer.FORMATS:
        fail(f"--format must be one of {', '.join(transfer.FORMATS)}, not {form!r}", USAGE)
    with _filled_client() as client, _progress(client) as progress:
        manifest = transfer.export(client, folder, form, progress)
    found = json.loads(manifest.read_bytes())
    rows = sum(table["rows"] for table in found["tables"])
    _line(as_json, f"{rows:,} rows of {len(found['tables'])} tables in {len(found['files'])} files, {folder}")
    _finish({"manifest": str(manifest), "rows": rows, "files": len(found["files"])}, as_json=as_json)


def import_(
    folder: Path = typer.Argument(..., metavar="DIR", help="What `export` wrote."),
    as_json: bool = _JSON,
) -> None:
    """Read an export into this store, which must be empty, and compare every table."""
    from spanlore_collector.store import transfer
    from spanlore_collector.store.migrate import migrate as migrate_store

    with _client(is_new=True) as (client, where, cluster):
        migrate_store(client, where.database, cluster)
        tables = transfer.load(folder, client, lambda name, rows: typer.echo(f"read {name} ({rows:,} rows)", err=True))
    rows = sum(table.rows for table in tables)
    _line(as_json, f"{rows:,} rows of {len(tables)} tables read, and found equal to what was exported")
    _finish({"rows": rows, "tables": {table.table: table.rows for table in tables}}, as_json=as_json)


def move(
    to: str = typer.Option(..., "--to", help="`http(s)://user:password@host:8123/database`, or `chdb:///path`."),
    cluster: str = typer.Option("", help="Name of the target's cluster, if it is one."),
    as_json: bool = _JSON,
) -> None:
    """Copy this store into an empty one elsewhere and compare every table. The source is left as it is."""
    from spanlore_collector.store import transfer
    from spanlore_collector.store.client import Store
    from spanlore_collector.store.migrate import migrate as migrate_store

    target = Store(to)
    with (
        _filled_client(target) as client,
        target.connect(database="default") as other,
        _progress(client) as progress,
    ):
        migrate_store(other, target.database, cluster)
        tables = transfer.copy(client, other, progress)
    rows = sum(table.rows for table in tables)
    _line(as_json, f"{rows:,} rows of {len(tables)} tables copied to {target.label}, and found equal")
    _line(
        as_json, "Set SPANLORE_CLICKHOUSE_URL to it (and SPANLORE_COLLECTOR_CLUSTER for a cluster), then `spanlore up`."
    )
    _finish({"rows": rows, "tables": {table.table: table.rows for table in tables}}, as_json=as_json)


def _settings() -> Settings:
    from spanlore.settings import load_settings

    return load_settings()


@contextmanager
def _client(*, is_new: bool = False) -> Iterator[tuple[Connection, Store, str]]:
    """The store's own connection, the store, and its cluster's name; faults as messages with an exit code."""
    from spanlore.settings import Paths, child_environment
    from spanlore_collector.store import descriptions
    from spanlore_collector.store.client import StoreLockedError, StoreUnavailableError, store_of
    from spanlore_collector.store.transfer import EngineError, TransferError

    settings = _settings()
    store = store_of(settings.clickhouse_url, Paths.from_environ(child_environment({})).store_dir)
    try:
        store.claim()
        descriptions.put_back(store.path)
        if store.path and not is_new and not store.path.exists():
            fail(f"there is no store in {store.path} yet. `spanlore up` makes one.", NOT_RUNNING)
        with store.connect(database="default") as client:
            if not is_new:
                client.database = store.database
            yield client, store, settings.collector.cluster
    except StoreLockedError as error:
        fail(str(error))
    except (StoreUnavailableError, TransferError, OSError) as error:
        fail(str(error))
    except EngineError as error:
        fail(f"the store refuses: {str(error)[:500]}")


@contextmanager
def _filled_client(target: Store | None = None) -> Iterator[Connection]:
    """A store that can be copied: nothing in it is left where an older version kept it."""
    from spanlore_collector.store import backfill, descriptions
    from spanlore_collector.store.migrate import migrate as migrate_store

    with _client() as (client, where, cluster):
        if target is not None and where.path and target.path:
            fail("both stores are embedded: use `store export` and, with the other SPANLORE_STATE_DIR, `import`")
        with descriptions.kept(where.path):
            migrate_store(client, where.database, cluster)
        backfill.fill(client, _tell_filling, cluster)
        yield client


def _tell_filling(progress: Sequence[Progress]) -> None:
    for one in progress:
        tell(f"filling {one.table}: {one.share:.0%}")


@contextmanager
def _progress(client: Connection) -> Iterator[Any]:
    """A callback that shows how far a copy is, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    sql = "SELECT sum(data_uncompressed_bytes) FROM system.parts WHERE active AND database = currentDatabase()"
    total = int(client.query(sql).result_rows[0][0] or 0)
    columns = (TextColumn("{task.description:<20}"), BarColumn(20), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("copying", total=total)
        yield lambda chunk: shown.update(task, advance=chunk.size_bytes, description=chunk.table[:20])


def _from_daemon(method: str, path: str, timeout_s: float = 30) -> dict[str, Any] | None:
    """The collector's answer; None when no daemon runs."""
    import urllib3

    from spanlore.settings import Paths, child_environment

    paths = Paths.from_environ(child_environment({}))
    try:
        port = json.loads(paths.daemon_file.read_bytes())["collector_port"]
        headers = {"Authorization": f"Bearer {paths.token()}"}
        answer = urllib3.request(
            method, f"http://127.0.0.1:{port}{path}", headers=headers, timeout=timeout_s, retries=False
        )
    except (OSError, ValueError, KeyError, urllib3.exceptions.HTTPError):
        return None
    found = answer.json()
    if answer.status != 200:
        fail(str(found.get("message", answer.status)))
    return dict(found)


def _kept(days: int) -> str:
    return f"{days} days" if days else "for ever"


def _line(as_json: bool, text: str) -> None:
    if not as_json:
        write(text)


def _finish(result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(result, default=str))
