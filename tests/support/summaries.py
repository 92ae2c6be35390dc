"""Summaries of made-up sessions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from spanlore_extractor.mining.summary import Resolved, Summary

DAY_NS = 86_400 * 10**9
NOW_NS = int(datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()) * 10**9


def a_summary(number: int, days_ago: float, decisions: Sequence[str] = (), unresolved: Sequence[str] = (),
              resolved: Sequence[str] = (), goal: str = "", branch: str = "main") -> Summary:  # fmt: skip
    end_ns = NOW_NS - int(days_ago * DAY_NS)
    return Summary(
        session_id=f"session-{number:04d}", repository="github.com/example/app", branch=branch, harness="codex",
        start_time_ns=end_ns - 60 * 10**9, end_time_ns=end_ns,
        goal=goal or f"make the {number}th thing work as it did before somebody changed it",
        task="and now the rest of it", decisions=tuple(decisions),
        files=tuple(f"src/m{number}_{n}.py" for n in range(6)),
        resolved=tuple(Resolved(line, f"make fix-{number}", "usage") for line in resolved),
        unresolved=tuple(unresolved), suggested_next=f"look at thing {number + 1}", questions=("Shall I push?",),
        confirmed=("lgtm",), counts={"tool_calls": 3},
    )  # fmt: skip


def many(count: int) -> list[Summary]:
    """A session every six hours; every tenth with a decision, every twelfth with a failure that stayed."""
    return [
        a_summary(
            n, (count - n) / 4,
            [f"never use tool number {n}, use the other one"] if n % 10 == 0 else [],
            [f"error: thing {n} is broken"] if n % 12 == 0 else [],
            [f"error: no rule {n % 7}", f"error: no such file {n}"],
        )
        for n in range(count)
    ]  # fmt: skip
