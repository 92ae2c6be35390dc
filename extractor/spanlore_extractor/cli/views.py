"""Memories, their evidence, and what a mining run did, for a terminal of 80 columns and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from spanlore.figures import several
from spanlore.memory.anchor import AnchorState
from spanlore.memory.categories import category_of
from spanlore.memory.memory import EvidenceRole, Memory, Status, memory_to_json
from spanlore.memory.operations import Operation, operation_to_json
from spanlore_extractor.memories.differing import Changed, Diff
from spanlore_extractor.memories.wording import clip, why_of
from spanlore_extractor.run import Report

_STYLES: Final = {
    Status.ACTIVE: "green",
    Status.TRIAL: "cyan",
    Status.CANDIDATE: "dim",
    Status.QUARANTINED: "yellow",
}
_ORDER: Final = (Status.ACTIVE, Status.TRIAL, Status.CANDIDATE, Status.QUARANTINED)
MAX_SHOWN: Final = 40
"""Dropped things a report shows one by one."""
_OUTPUT_LINES: Final = 12


def listing_order(memory: Memory) -> tuple[int, str, float, str]:
    """Shown ones first, then by scope, then newest evidence first."""
    rank = _ORDER.index(memory.status) if memory.status in _ORDER else len(_ORDER)
    return rank, memory.scope, -memory.updated_at_ns, memory.id


def memory_table(memories: Iterable[Memory], show_scope: bool = True) -> Table:
    """One memory a row."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("id", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("seen", justify="right", no_wrap=True)
    table.add_column("what is shown", ratio=1, min_width=24)
    for memory in memories:
        text = Text(memory.text)
        marks = _marks(memory)
        if marks:
            text.append(f"\n{marks}", "yellow")
        if show_scope:
            text.append(f"\n{memory.scope}", "dim")
        status = Text(memory.status.value, _STYLES.get(memory.status, "dim"))
        seen = f"{memory.session_count}" if memory.session_count else "–"
        kind = Text(memory.kind.value).append(f"\n{category_of(memory)}", "dim")
        table.add_row(memory.id, status, kind, seen, text)
    return table


def categorised(memory: Memory) -> dict[str, Any]:
    """The memory with its category, for programs."""
    return {**memory_to_json(memory), "category": category_of(memory).value}


def memory_view(
    memory: Memory, events: Sequence[Mapping[str, Any]], opened: Mapping[str, Mapping[str, Any]]
) -> RenderableType:
    """One memory with its life and its evidence."""
    head = Text()
    head.append(f"{memory.id}  ", "bold")
    head.append(memory.status.value, _STYLES.get(memory.status, "dim"))
    head.append(f" · {memory.kind.value} · {category_of(memory)} · {memory.scope}")
    head.append(f" · {memory.harness}\n" if memory.harness else "\n")
    head.append(f"{memory.text}\n", "italic")
    head.append(f"\nwhy this status: {memory.note}\n" if memory.note else "\n")
    marks = _marks(memory)
    if marks:
        head.append(f"{marks}\n", "yellow")
    if memory.verdict:
        head.append(f"judge: {memory.verdict}\n")
    sessions = several(memory.session_count, "session") if memory.session_count else "no session"
    head.append(f"confidence {memory.confidence:.2f} ({memory.alpha:g} for, {memory.beta:g} against), {sessions}")
    return Group(head, Text("\nlife", "bold"), *_life(events), Text("\nevidence", "bold"), *_evidence(memory, opened))


def _marks(memory: Memory) -> str:
    """What else a person wants to see in a list."""
    marks = ["pinned"] if memory.pinned else []
    if memory.is_edited:
        marks.append("edited")
    if memory.sub_path:
        marks.append(f"in {memory.sub_path}")
    if memory.is_live and memory.valid_to_ns:
        marks.append(f"until {_when(memory.valid_to_ns)}")
    if memory.duplicate_of and memory.is_live:
        marks.append(f"says the same as {memory.duplicate_of}, by the judge; `spanlore review --merge {memory.id}`")
    if memory.harness:
        marks.append(f"only {memory.harness}")
    for state, word in ((AnchorState.DRIFTED, "has changed"), (AnchorState.ORPHANED, "is gone")):
        names = [anchor.name for anchor in memory.anchors if anchor.state is state]
        if names:
            marks.append(f"{', '.join(names)} {word}")
    return " · ".join(marks)


def evidence_to_json(memory: Memory, opened: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The evidence with what its spans say."""
    return [
        {
            "role": item.role.value,
            "session_id": item.session_id,
            "trace_id": item.trace_id,
            "span_id": item.span_id,
            "time_ns": item.time_ns,
            "quote": item.quote,
            "call": dict(opened[item.span_id]) if item.span_id in opened else None,
        }
        for item in memory.evidence
    ]


def report_view(report: Report, dry_run: bool) -> RenderableType:
    """What a run did, or would do."""
    would = "would be " if dry_run else ""
    verbs = Counter(operation.verb.value for operation in report.operations)
    done = ", ".join(f"{count} {would}{verb}" for verb, count in sorted(verbs.items())) or f"nothing {would}changed"
    head = Text(f"{several(report.sessions, 'session')}, {several(report.spans, 'span')}: {done}\n")
    head.append(f"failures and messages that taught nothing: {len(report.dropped):,}")
    parts: list[RenderableType] = [head]
    if report.operations:
        parts += [Text(), _operation_table(report.operations)]
    if dry_run:
        parts += _refusals(report)
    return Group(*parts)


def report_to_json(report: Report, dry_run: bool) -> dict[str, Any]:
    """The same, for programs."""
    return {
        "dry_run": dry_run,
        "sessions": report.sessions,
        "spans": report.spans,
        "operations": [operation_to_json(operation) for operation in report.operations],
        "refused": [
            {
                "id": item.candidate.id,
                "kind": item.candidate.kind.value,
                "session_id": item.candidate.session_id,
                "what": why_of(item.candidate),
                "reason": item.reason,
            }
            for item in report.refused
        ],
        "dropped": [
            {
                "what": item.what,
                "session_id": item.session_id,
                "trace_id": item.trace_id,
                "span_id": item.span_id,
                "text": item.text,
                "reason": item.reason,
            }
            for item in report.dropped
        ],
    }


def diff_view(diff: Diff, is_applied: bool) -> RenderableType:
    """What mining afresh would change."""
    would = "" if is_applied else "would be "
    head = f"{len(diff.added)} {would}added, {len(diff.changed)} {would}changed, {len(diff.dropped)} {would}dropped, "
    head += f"{diff.unchanged} are the same"
    if diff.out_of_reach:
        head += f"; of {len(diff.out_of_reach)} the sessions are gone, they stay"
    out: list[RenderableType] = [Text(head)]
    marks = [("+", memory, "green") for memory in diff.added] + [("-", memory, "red") for memory in diff.dropped]
    for mark, memory, style in marks[:MAX_SHOWN]:
        out.append(Text(f"{mark} {memory.id} {memory.status.value}  {memory.text}", style))
    for item in diff.changed[:MAX_SHOWN]:
        out.append(Text(f"~ {item.after.id} {', '.join(item.fields)}", "yellow"))
        out += [Text(f"    {line}") for line in _changes(item)]
    left = max(0, len(marks) - MAX_SHOWN) + max(0, len(diff.changed) - MAX_SHOWN)
    return Group(*out, *([Text(f"… and {left} more; --json has all", "dim")] if left else []))


def diff_to_json(diff: Diff) -> dict[str, Any]:
    """The same, for programs."""
    return {
        "added": [memory_to_json(memory) for memory in diff.added],
        "changed": [
            {
                "id": item.after.id,
                "fields": item.fields,
                "before": memory_to_json(item.before),
                "after": memory_to_json(item.after),
            }
            for item in diff.changed
        ],
        "dropped": [memory_to_json(memory) for memory in diff.dropped],
        "out_of_reach": [memory.id for memory in diff.out_of_reach],
        "unchanged": diff.unchanged,
    }


def _changes(item: Changed) -> list[str]:
    lines = [f"- {item.before.text}", f"+ {item.after.text}"] if "text" in item.fields else [item.after.text]
    return [*lines, f"{item.before.status} → {item.after.status}"] if "status" in item.fields else lines


def _operation_table(operations: Iterable[Operation]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("memory", ratio=1, min_width=24)
    for operation in operations:
        text = Text(operation.memory.text)
        text.append(f"\n{operation.reason}", "dim")
        status = Text(operation.memory.status.value, _STYLES.get(operation.memory.status, "dim"))
        table.add_row(operation.verb.value, operation.memory.id, status, text)
    return table


def _refusals(report: Report) -> list[RenderableType]:
    lines = [(item.reason, f"{item.candidate.kind.value}: {why_of(item.candidate)}") for item in report.refused]
    lines += [(item.reason, f"{item.what}: {item.text}") for item in report.dropped]
    out: list[RenderableType] = [Text("\nnot taken", "bold")] if lines else []
    for reason, what in lines[:MAX_SHOWN]:
        out.append(Text(f"{clip(what, 76)}\n    {reason}", "dim"))
    if len(lines) > MAX_SHOWN:
        out.append(Text(f"… and {len(lines) - MAX_SHOWN} more; --json has all", "dim"))
    return out


def _life(events: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    out: list[RenderableType] = []
    for event in events:
        line = Text(f"{_when(int(event['at_ns']))}  ")
        line.append(str(event["verb"]), "bold")
        line.append(f" by {event['actor']}: {event['reason']}" if event["reason"] else f" by {event['actor']}")
        out.append(line)
    return out


def _evidence(memory: Memory, opened: Mapping[str, Mapping[str, Any]]) -> list[RenderableType]:
    if not memory.evidence:
        return [Text("none: the user said it by hand", "dim")]
    marks = {
        EvidenceRole.FAILURE: ("failed", "red"),
        EvidenceRole.FIX: ("worked", "green"),
        EvidenceRole.AGAINST: ("failed all the same", "red"),
    }
    out: list[RenderableType] = []
    for item in memory.evidence:
        word, style = marks.get(item.role, ("the user said", "cyan"))
        line = Text(f"{_when(item.time_ns)}  ")
        line.append(word, style)
        line.append(f"  session {item.session_id}\n", "dim")
        line.append(f"trace {item.trace_id} span {item.span_id}", "dim")
        out.append(line)
        call = opened.get(item.span_id)
        is_said = item.role is EvidenceRole.STATEMENT
        text = f"“{item.quote}”" if is_said or call is None else _call_text(call)
        out.append(Padding(Text(text), (0, 0, 0, 2)))
    return out


def _call_text(call: Mapping[str, Any]) -> str:
    """The call and the head of its output."""
    head = f"{call['tool_name']}: {clip(str(call['command']), 300)}"
    if call["exit_code"] is not None:
        head += f"  (exit {call['exit_code']})"
    lines = [line for line in str(call["output"] or "").splitlines() if line.strip()]
    shown = [f"  {clip(line, 200)}" for line in lines[:_OUTPUT_LINES]]
    more = [f"  … {len(lines) - _OUTPUT_LINES} more lines"] if len(lines) > _OUTPUT_LINES else []
    return "\n".join([head, *shown, *more])


def _when(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns / 1e9, UTC).astimezone():%Y-%m-%d %H:%M}"
