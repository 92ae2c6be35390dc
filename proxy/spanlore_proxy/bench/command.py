"""`spanlore bench proxy`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from spanlore.main import group

SOAK_EXCHANGES = 2_000


def register(app: typer.Typer) -> None:
    """Adds `bench proxy`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("proxy")
    def proxy(
        requests: int = typer.Option(200, min=3, help="Timed requests of each size and target."),
        memories: int = typer.Option(200, min=1, help="Memories of the repository that the requests are about."),
        soak: bool = typer.Option(False, "--soak", help="Memory over 2,000 exchanges of 200 KB, too (some minutes)."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Requests, streamed chunks and WebSocket frames: direct, bare mitmdump and spanlore, interleaved."""
        import asyncio
        import tempfile

        with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as folder:
            result = asyncio.run(measure(Path(folder), requests, memories, SOAK_EXCHANGES if soak else 0))
        from spanlore_proxy.bench.budgets import table

        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


async def measure(folder: Path, requests: int, memories: int = 200, soaked: int = 0) -> dict[str, Any]:
    """The whole benchmark: rows with milliseconds and ratios, the budgets, and whether they were kept. `soaked`: how
    many exchanges to watch the memory over."""
    from spanlore_proxy.bench.budgets import OURS, judge
    from spanlore_proxy.bench.rounds import Comparison
    from spanlore_proxy.bench.targets import stage

    with stage(folder, memories) as running:
        rows = await Comparison(running).rows(requests)
        if soaked:
            from spanlore_proxy.bench.soak import soak

            ours = next(target for target in running.targets if target.name == OURS)
            rows.append(await soak(ours, soaked, running.resident_bytes))
    return judge(rows)
