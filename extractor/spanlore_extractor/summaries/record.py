"""A session's summary as people read it, and as it is kept. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from spanlore.figures import duration, several
from spanlore_extractor.mining.summary import Resolved, Summary

_TUPLES: Final = ("decisions", "files", "unresolved", "questions", "confirmed")


def is_worth_keeping(summary: Summary) -> bool:
    """Whether anything was asked or done in it."""
    return bool(summary.goal or summary.counts.get("tool_calls"))


def text_of(summary: Summary) -> str:
    """What it was about, without its head."""
    lines = [f"Goal: {summary.goal or '(nobody typed anything)'}"]
    if summary.task:
        lines.append(f"Last asked: {summary.task}")
    if summary.suggested_next:
        lines.append(f"Next, perhaps: {summary.suggested_next}")
    resolved = [f"{item.error} -> {item.fix}" for item in summary.resolved]
    for title, items in (
        ("Decisions", summary.decisions),
        ("Files changed", summary.files),
        ("Errors resolved", resolved),
        ("Errors open", summary.unresolved),
        ("Confirmed", summary.confirmed),
        ("Open questions", summary.questions),
    ):
        if items:
            lines += ["", f"{title}:", *(f"- {item}" for item in items)]
    if summary.left_out:
        lines += ["", f"({summary.left_out} more left out)"]
    return "\n".join(lines)


def head_of(summary: Summary) -> str:
    """Whose it is: id, agent, repository, branch, time, counts."""
    start = datetime.fromtimestamp(summary.start_time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
    took = duration(summary.end_time_ns - summary.start_time_ns)
    counts = ", ".join(several(n, name.replace("_", " ").removesuffix("s")) for name, n in summary.counts.items())
    return "\n".join(
        (
            f"{summary.session_id}  {summary.harness}",
            f"{summary.repository or 'unknown repository'}  {summary.branch}".rstrip(),
            f"{start} UTC, {took}, {counts}",
        )
    )


def row_of(summary: Summary) -> dict[str, Any]:
    """As the collector keeps it (`store.summaries.SummaryRow`)."""
    return {
        "session_id": summary.session_id[:400],
        "harness": summary.harness[:200],
        "repository": summary.repository[:1000],
        "branch": summary.branch[:1000],
        "start_time_ns": summary.start_time_ns,
        "end_time_ns": summary.end_time_ns,
        "steps": summary.steps,
        "goal": summary.goal[:4000],
        "text": text_of(summary),
        "json": orjson.dumps(asdict(summary)).decode(),
    }


def summary_of(row: Mapping[str, Any]) -> Summary:
    """The inverse. Fields that another version wrote or left out do not matter.

    Raises:
        ValueError: no summary.
    """
    try:
        data = orjson.loads(row["json"])
        known = {name: data[name] for name in Summary.__dataclass_fields__ if name in data}
        for name in _TUPLES:
            known[name] = tuple(str(item) for item in known.get(name, ()))
        known["resolved"] = tuple(
            Resolved(str(item["error"]), str(item["fix"]), str(item["type"])) for item in known.get("resolved", ())
        )
        return Summary(**known)
    except (orjson.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"the summary of {row.get('session_id', 'a session')} can't be read: {error}") from None
