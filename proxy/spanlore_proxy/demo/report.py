"""What the demonstration found, for a terminal of 80 columns and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spanlore.memory.memory import Memory, memory_to_json
from spanlore_proxy.demo.findings import Figures, Findings, Insertion, figures_json
from spanlore_proxy.demo.prompt_cache import BYTES_PER_TOKEN
from spanlore_proxy.demo.stage import Stage

MARKS = {"success": "[green]✓[/]", "failure": "[red]✗[/]"}


def show(findings: Findings, stage: Stage, console: Console) -> None:
    """The report."""
    _captured(findings, console)
    _learned(findings.memories, console)
    _injected(findings.insertions, console)
    _cost(findings.figures, console)
    _checks(findings, console)
    _where(findings, stage, console)


def to_json(findings: Findings, stage: Stage) -> dict[str, Any]:
    """The same as one JSON object."""
    return {
        "spans": findings.span_count,
        "sessions": [figures_json(item) for item in findings.figures],
        "tool_calls": [
            {
                "session_id": row.session.id,
                "command": row.command,
                "outcome": row.outcome,
                "exit_code": row.exit_code,
                "error_line": row.error_line,
            }
            for row in findings.tools
        ],
        "memories": [memory_to_json(memory) for memory in findings.memories],
        "insertions": [
            {
                "session_id": item.session.id,
                "request_id": item.request_id,
                "requests": item.requests,
                "offset_bytes": item.offset,
                "bytes": len(item.data),
                "where": item.where,
                "text": item.data.decode(),
            }
            for item in findings.insertions
        ],
        "checks": [
            {"claim": check.claim, "is_true": check.is_true, "detail": check.detail} for check in findings.checks
        ],
        "kept_in": str(stage.base) if stage.is_kept else None,
        "is_good": findings.is_good,
    }


def _captured(findings: Findings, console: Console) -> None:
    console.print(f"\n[bold]Captured[/]  {len(findings.figures)} sessions, {findings.span_count} spans")
    name = ""
    for row in findings.tools:
        if row.session.name != name:
            name = row.session.name
            console.print(f"  {name}  [dim]{row.session.id[:8]}[/]")
        exit_code = f"  exit {row.exit_code}" if row.exit_code else ""
        console.print(
            f"    {MARKS.get(row.outcome, '·')} {escape(row.command)}{exit_code}", no_wrap=True, overflow="ellipsis"
        )
        if row.error_line:
            console.print(f"      [red]{escape(row.error_line)}[/]", no_wrap=True, overflow="ellipsis")


def _learned(memories: Iterable[Memory], console: Console) -> None:
    console.print("\n[bold]Learned[/]")
    for memory in memories:
        console.print(f"  [cyan]{memory.id}[/] {memory.kind} · {memory.status} · {memory.scope}")
        console.print(Padding(Text(memory.text), (0, 0, 0, 4)))
        for item in memory.evidence:
            quote = " ".join(item.quote.split())
            console.print(
                f"    [dim]{item.role} {item.span_id[:8]}: {escape(quote)}[/]", no_wrap=True, overflow="ellipsis"
            )


def _injected(insertions: Iterable[Insertion], console: Console) -> None:
    console.print("\n[bold]Injected[/]")
    for item in insertions:
        console.print(
            f"  {item.session.name}: {len(item.data)} bytes at {item.offset}, {item.where};\n"
            f"  the same bytes in {item.requests} requests, first in {item.request_id[:8]}"
        )
        console.print(Padding(Text(item.data.decode(), style="magenta"), (0, 0, 0, 4)))


def _cost(figures: Sequence[Figures], console: Console) -> None:
    console.print("\n[bold]What the task cost[/]")
    table = Table(box=None, pad_edge=False, padding=(0, 1))
    for name in ("", "requests", "failed", "tokens in", "cached", "out", "cost", "added"):
        table.add_column(name, justify="left" if not name else "right")
    for item in figures:
        table.add_row(
            item.session.name,
            str(item.requests),
            str(item.failures),
            f"{item.input_tokens:,}",
            f"{item.cache_read_tokens:,}",
            f"{item.output_tokens:,}",
            "–" if item.cost_usd is None else f"${item.cost_usd:.4f}",
            f"{item.injected_bytes} B",
        )
    console.print(table)
    before = next((item for item in figures if item.session.name.startswith("run 1")), None)
    after = next((item for item in figures if item.session.name.startswith("run 2")), None)
    if before and after:
        console.print(
            f"Run 2 took {after.requests} requests instead of {before.requests} and {after.input_tokens:,} tokens "
            f"instead of {before.input_tokens:,}; about {after.injected_bytes // BYTES_PER_TOKEN} tokens of each "
            "request are the memory, read from the cache from the second on."
        )


def _checks(findings: Findings, console: Console) -> None:
    console.print("\n[bold]Checked[/]")
    table = Table.grid(padding=(0, 1, 0, 0))
    for check in findings.checks:
        detail = f" [dim]({check.detail})[/]" if check.detail else ""
        table.add_row(f" {'[green]✓[/]' if check.is_true else '[red]✗[/]'}", f"{check.claim}{detail}")
    console.print(Padding(table, (0, 0, 0, 1)))


def _where(findings: Findings, stage: Stage, console: Console) -> None:
    if not stage.is_kept:
        console.print("\nNothing is left behind. To look around afterwards: spanlore demo --keep DIR")
        return
    first = findings.figures[0].session.id[:8]
    request = next((item.request_id[:8] for item in findings.insertions), "REQUEST")
    console.print(
        f"\nKept in {stage.base}. To look around:\n"
        f"  export SPANLORE_STATE_DIR={stage.paths.state_dir}\n"
        f"  export SPANLORE_CONFIG_DIR={stage.paths.config_dir}\n"
        "  spanlore up --detach\n"
        f"  spanlore sessions; spanlore session {first}; spanlore memories --all\n"
        f"  spanlore explain {request}\n"
        "  spanlore down",
        soft_wrap=True,
    )
