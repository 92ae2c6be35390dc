"""`spanlore status` for people: what runs, what was captured and lost, what went into requests, what is stored.

The numbers that only a fault needs are in `--json`; here a line stands for something a user would act on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_PLACES: Final = (
    ("agents go to", "proxy"),
    ("OTLP and API", "collector"),
    ("ClickHouse", "clickhouse"),
    ("web page", "web"),
    ("state in", "state_dir"),
)
_SKIPPED: Final = {
    "nothing": "nothing to say",
    "side_call": "calls on the side",
    "late": "first seen in the middle",
    "subagent": "sub-agents",
    "unknown_project": "unknown project",
    "client_block": "the client carries the block itself",
    "attested": "signed by the client",
}
"""Reason → words, where the reason is not one already."""


def render(found: Mapping[str, Any]) -> str:
    """The whole of `status.status()`, at most 80 columns but for paths."""
    sections = (_head(found), _processes(found), _runs(found), _capture(found), _injection(found), _store(found))
    return "\n".join(line for section in sections for line in section)


def _head(found: Mapping[str, Any]) -> Iterator[str]:
    state = "" if found["healthy"] else ", but not healthy"
    yield f"spanlore {found['version']} is up for {duration(found['up_s'])}{state}"
    yield from (f"  TROUBLE: {trouble}" for trouble in found["troubles"])
    yield from (f"  {name:<12} {found[key]}" for name, key in _PLACES if found.get(key))


def _processes(found: Mapping[str, Any]) -> Iterator[str]:
    yield "processes"
    for process in found["processes"]:
        state = f"pid {process['pid']}, {process['memory_mb']} MB" if process["alive"] else "DOWN"
        again = f", started again {process['restarts']} ×" if process["restarts"] else ""
        yield f"  {process['name']:<12} {state}{again}"


def _runs(found: Mapping[str, Any]) -> Iterator[str]:
    yield "agents running"
    yield from (f"  {run['run_id']}  {run['harness']:<12} {run['cwd']}" for run in found["runs"])
    if not found["runs"]:
        yield "  none started by `spanlore run`"


def _capture(found: Mapping[str, Any]) -> Iterator[str]:
    whole, proxy = found["completeness"], found["capture"]
    counts = proxy.get("counters", {})
    yield "capture"
    yield f"  {whole['captured']} exchanges captured, {whole['shipped']} in the store, {whole['waiting']} waiting"
    yield f"  lost: {_reasons(whole['lost'])}"
    for name, words in (
        ("cut_off", "under way when the proxy was killed"),
        ("not_captured", "left out on purpose"),
        ("passthrough", "passed through because of a fault of ours"),
        ("stripped", "kept without content, the spool was full"),
        ("degraded", "conveniences of ours that failed"),
    ):
        if counts.get(name):
            yield f"  {words}: {_reasons(counts[name])}"
    overhead = proxy.get("overhead_ns") or {}
    if overhead:
        p50, p99 = overhead["p50"] / 1e6, overhead["p99"] / 1e6
        yield f"  spanlore's own time a request: p50 {p50:.2f} ms, p99 {p99:.2f} ms"
    if proxy.get("delivery_trouble"):
        yield f"  TROUBLE: {proxy['delivery_trouble']}"


def _injection(found: Mapping[str, Any]) -> Iterator[str]:
    counts = found["capture"].get("counters", {})
    yield "injection"
    yield f"  {sum(counts.get('injected', {}).values())} requests carried memories"
    skipped = {_SKIPPED.get(reason, reason): count for reason, count in counts.get("skipped", {}).items()}
    if skipped:
        yield f"  untouched: {_reasons(skipped)}"
    if counts.get("prefix_changed"):
        yield f"  ALARM: a prefix would have changed by our doing: {_reasons(counts['prefix_changed'])}"
    if found["injection_stopped"]:
        yield "  STOPPED by the kill file; remove it to go on."


def _store(found: Mapping[str, Any]) -> Iterator[str]:
    says = found["collector_says"]
    yield "store"
    if "error" in says:
        yield f"  {says['error']}"
        return
    store = says.get("store", {})
    tables = store.get("tables", {})
    size_mb = sum(table.get("bytes", 0) for table in tables.values()) / 1e6
    spans = tables.get("otel_traces", {}).get("rows", 0)
    yield f"  {store.get('url', '')} ({store.get('kind', '?')}), {spans} spans, {size_mb:.1f} MB"
    for table, share in store.get("filling", {}).items():
        yield f"  {table} is being filled with what an older version stored: {share:.0%}"
    if store.get("filling_failure"):
        yield f"  the last step of that failed, and is tried again: {store['filling_failure']}"
    memories = says.get("memories", {})
    if memories:
        yield f"  memories: {_reasons(memories)}"
    ingest = says.get("ingest", {})
    if ingest.get("last_failure"):
        yield f"  TROUBLE: {ingest['last_failure']}"


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count) or "nothing"


def duration(seconds: float) -> str:
    """`3 h 5 min`, `4 min 2 s`, `7 s`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
