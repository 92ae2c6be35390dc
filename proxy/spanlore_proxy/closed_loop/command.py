"""`spanlore eval loop`: what each arm cost over a sequence of sessions, with scripted models."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from spanlore.main import group
from spanlore.terminal import tell

if TYPE_CHECKING:
    from spanlore_proxy.closed_loop.loop import Arm

LABEL: Final = "scripted models: the plumbing works; it says nothing of a real model's benefit"
BYTES_PER_TOKEN: Final = 4
MIN_EVEN: Final = 3
"""Sessions without a failure or correction, at the least, that make an arm even with the hand-written file."""
BUDGETS: Final = {
    "obeys, learned: repeated failures and corrections, share of none's, at most": 0.5,
    "ignores, learned: repeated failures and corrections, share of none's, at least": 0.9,
    "placebo and withheld: repeated failures and corrections, share of none's, at least": 0.9,
}


def register(app: typer.Typer) -> None:
    """Adds `eval loop`."""

    @group(app, "eval", "Measure what is understood and learned, on recordings.").command("loop")
    def loop(
        sessions: int = typer.Option(30, min=3, help="Sessions of each arm and policy, in sequence."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Learn and inject over SESSIONS sessions, against no memory, a hand-written file, and a placebo."""
        from spanlore_proxy.closed_loop.client import LoopError
        from spanlore_proxy.closed_loop.loop import Loop

        with tempfile.TemporaryDirectory(prefix="spanlore-loop-") as folder:
            try:
                arms = Loop(Path(folder), sessions, lambda line: typer.echo(line, err=True)).run()
            except (LoopError, RuntimeError) as error:
                tell(f"spanlore: {error}")
                raise typer.Exit(1) from None
        result = judge([row(arm) for arm in arms])
        typer.echo(table(result))
        sys.stdout.flush()
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


def row(arm: Arm) -> dict[str, Any]:
    """What an arm cost; a failure or correction is repeated when an earlier session of the arm had that lesson."""
    seen: set[str] = set()
    repeated_failures = repeated_corrections = redundant_looks = 0
    costly: list[bool] = []
    for lesson, outcome in zip(arm.order, arm.outcomes, strict=True):
        is_repeated = lesson.area in seen
        seen.add(lesson.area)
        repeated_failures += is_repeated and outcome.failures > 0
        repeated_corrections += is_repeated and outcome.corrections > 0
        redundant_looks += is_repeated and outcome.looks > 0
        costly.append(outcome.failures + outcome.corrections > 0)
    return {
        "what": f"{arm.policy.name}: {arm.name}",
        "policy": arm.policy.name,
        "arm": arm.name,
        "sessions": len(arm.outcomes),
        "repeated_failures": repeated_failures,
        "repeated_corrections": repeated_corrections,
        "redundant_looks": redundant_looks,
        "requests": sum(outcome.requests for outcome in arm.outcomes),
        "exposed_tokens": arm.exposed_bytes // BYTES_PER_TOKEN,
        "crossover_session": crossover(costly),
    }


def crossover(costly: list[bool]) -> int | None:
    """From which session on (from 1) an arm is like the hand-written file: no failure and no correction any more. None
    when it never is, or when so few sessions followed that chance would do."""
    last = max((number for number, is_costly in enumerate(costly) if is_costly), default=-1)
    return last + 2 if last + MIN_EVEN < len(costly) else None


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows, what the plumbing must show, and whether it did."""
    cost = {(row["policy"], row["arm"]): row["repeated_failures"] + row["repeated_corrections"] for row in rows}
    learns, ignored, inert = BUDGETS.values()
    kept = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        none = cost[policy, "none"]
        if policy == "obeys":
            kept += [cost[policy, "learned"] <= learns * none, cost[policy, "hand-written"] == 0]
        if policy == "ignores":
            kept.append(cost[policy, "learned"] >= ignored * none)
        kept += [cost[policy, arm] >= inert * none for arm in ("withheld", "placebo")]
    return {"bench": "eval loop", "label": LABEL, "rows": rows, "budgets": BUDGETS, "within_budget": all(kept)}


def table(result: dict[str, Any]) -> str:
    """The rows for people."""
    head = f"{'policy: arm':38}{'failed':>8}{'corrected':>10}{'looked':>7}{'tokens':>9}{'even at':>8}"
    lines = [result["label"], "failed, corrected, looked: again, after an earlier session had that lesson", "", head]
    for row in result["rows"]:
        even = row["crossover_session"] or "–"
        lines.append(
            f"{row['what']:38}{row['repeated_failures']:>8}{row['repeated_corrections']:>10}"
            f"{row['redundant_looks']:>7}{row['exposed_tokens']:>9}{even:>8}"
        )
    lines.append("as it must be" if result["within_budget"] else "NOT as it must be")
    return "\n".join(lines)
