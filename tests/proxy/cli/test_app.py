"""The proxy's commands together."""

import subprocess
import sys

import typer
from typer.testing import CliRunner

from spanlore_proxy.cli.app import commands


def test_all_commands_are_there() -> None:
    """Each module adds its own."""
    app = typer.Typer()
    commands(app)

    shown = CliRunner().invoke(app, ["--help"]).stdout

    for name in ("run", "env", "up", "down", "status", "explain", "eval", "bench", "demo"):
        assert f" {name} " in shown


def test_help_loads_nothing_heavy() -> None:
    """Whoever only wants to see the commands waits for no proxy, no store and no HTTP library."""
    heavy = ("mitmproxy", "aiohttp", "chdb", "clickhouse_connect", "psutil", "cryptography", "rich")
    script = (
        "import sys, typer; from spanlore_proxy.cli.app import commands; commands(typer.Typer());"
        f"sys.stdout.write(' '.join(name for name in {heavy!r} if name in sys.modules))"
    )

    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout

    assert loaded == ""
