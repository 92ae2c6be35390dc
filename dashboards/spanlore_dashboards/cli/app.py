"""`spanlore dashboards install`, `export` and `uninstall`. Heavy imports are inside the commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanlore.ending import NOT_RUNNING, WRONG, fail
from spanlore.main import group
from spanlore_dashboards.bench import command as bench

if TYPE_CHECKING:
    from spanlore_dashboards.grafana.api import Grafana
    from spanlore_dashboards.grafana.provisioning import Store

_Url = Annotated[str, typer.Option("--grafana", help="Address of Grafana, such as http://127.0.0.1:3000.")]
_Token = Annotated[str, typer.Option("--token", help="A service account's token, role Admin.")]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object.")]


def commands(app: typer.Typer) -> None:
    """Adds the dashboards' commands to `app`."""
    dashboards = group(app, "dashboards", "Grafana dashboards: put them in, take them out, write them as files.")
    dashboards.command("install")(install)
    dashboards.command("uninstall")(uninstall)
    dashboards.command("export")(export)
    bench.register(app)


def install(
    grafana: _Url,
    token: _Token = "",
    clickhouse: Annotated[
        str, typer.Option(help="Where Grafana finds the store, when not here: http://user:password@host:8123/database")
    ] = "",
    as_json: _Json = False,
) -> None:
    """Put the data source and the dashboards into a Grafana. May be repeated: they are replaced."""
    import json

    from spanlore_dashboards.grafana import provisioning
    from spanlore_dashboards.grafana.api import GrafanaError

    store = _store(clickhouse)
    try:
        server = _grafana(grafana, token)
        version = server.version()
        if server.needs_plugin():
            fail(f"{server.url} lacks a plugin: grafana cli plugins install {provisioning.PLUGIN}", WRONG)
        state = server.put_datasource(provisioning.datasource(store))
        server.put_folder()
        addresses = [server.put_dashboard(json.loads(path.read_text())) for path in provisioning.dashboard_files()]
    except GrafanaError as error:
        fail(str(error), WRONG)
    if as_json:
        typer.echo(json.dumps({"grafana": version, "datasource": state, "dashboards": addresses}))
    else:
        typer.echo("\n".join([f"Grafana {version}: data source {state}, {len(addresses)} dashboards:", *addresses]))


def uninstall(grafana: _Url, token: _Token = "", as_json: _Json = False) -> None:
    """Take the dashboards' folder and the data source out of a Grafana again."""
    import json

    from spanlore_dashboards.grafana.api import GrafanaError

    try:
        server = _grafana(grafana, token)
        server.remove()
    except GrafanaError as error:
        fail(str(error), WRONG)
    typer.echo(json.dumps({"removed": server.url}) if as_json else f"removed from {server.url}")


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the files are written.")],
    clickhouse: Annotated[str, typer.Option(help="Where Grafana finds the store, when not here.")] = "",
    dashboards_path: Annotated[
        str, typer.Option("--path", help="Where Grafana will find DIR's dashboards; without it where they are written.")
    ] = "",
    as_json: _Json = False,
) -> None:
    """Write the dashboards and provisioning files; the data source's holds the token, so it is readable by you only."""
    import json

    from spanlore import private_file
    from spanlore_dashboards.grafana import provisioning

    store = _store(clickhouse)
    written = []
    try:
        target = folder / "json"
        target.mkdir(parents=True, exist_ok=True)
        for path in provisioning.dashboard_files():
            (target / path.name).write_bytes(path.read_bytes())
            written.append(target / path.name)
        for name, text in provisioning.files(store, dashboards_path or str(target.absolute())):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            private_file.write(path, text.encode())
            written.append(path)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", WRONG)
    typer.echo(json.dumps({"written": list(map(str, written))}) if as_json else "\n".join(map(str, written)))


def _grafana(url: str, token: str) -> Grafana:
    from spanlore_dashboards.grafana.api import Grafana

    return Grafana(url, token)


def _store(url: str) -> Store:
    """The store by its URL; else the settings' server; else the running daemon's ClickHouse interface."""
    import json

    from spanlore.settings import Paths, child_environment, load_settings
    from spanlore_dashboards.grafana.provisioning import Store

    paths = Paths.from_environ(child_environment({}))
    wanted = url or load_settings(paths=paths).clickhouse_url
    if wanted:
        try:
            return Store.of(wanted)
        except ValueError as error:
            fail(str(error), WRONG)
    try:
        port = int(json.loads(paths.daemon_file.read_text())["clickhouse_port"])
    except (OSError, ValueError, KeyError, TypeError):
        fail("the daemon is not running; `spanlore up --detach` starts it, or give --clickhouse URL.", NOT_RUNNING)
    return Store("127.0.0.1", port, "spanlore", paths.token(), "spanlore")
