"""Checks of what was recorded: spool, completeness, store, each agent's last doings, signed sessions, prefix alarm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from spanlore.figures import several
from spanlore_proxy.capture.counters import PROXY_KILLED
from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene, StoreSilentError
from spanlore_proxy.launch.status import completeness as counted
from spanlore_proxy.launch.status_text import duration

LATE_S: Final = 300
NEARLY_FULL: Final = 0.8
DAYS: Final = 7
ALARM: Final = "prefix"
"""How the names of counters begin that count a changed request prefix: they have to stay 0."""

_ACTIVITY: Final = f"""
SELECT harness, toUnixTimestamp64Milli(toDateTime64(max(end_time), 3)) AS captured_ms,
       toUnixTimestamp64Milli(toDateTime64(maxIf(end_time, notEmpty(injected_memory_ids)), 3)) AS injected_ms,
       uniqExact(session_id) AS sessions,
       uniqExactIf(session_id, injection_skipped = 'attested') AS attested
FROM inferences WHERE start_time > now() - INTERVAL {DAYS} DAY GROUP BY harness ORDER BY captured_ms DESC
"""
_MINED: Final = """
SELECT toUnixTimestamp64Milli(toDateTime64(max(updated_at), 3)) AS mined_ms FROM mining_state WHERE key = 'sessions'
"""


def spool(scene: Scene) -> Iterator[Finding]:
    """What was captured reaches the collector, and the spool has room."""
    if scene.daemon is None:
        return
    held: Mapping[str, Any] = scene.proxy.get("spool", {})
    records, size = int(held.get("records", 0)), int(held.get("bytes", 0))
    oldest_ns = int(held.get("oldest_time_ns") or scene.now_ns)
    age_s = max(scene.now_ns - oldest_ns, 0) / 1e9
    limit = scene.settings.proxy.spool_max_bytes
    trouble = str(scene.proxy.get("delivery_trouble") or "")
    if trouble:
        do = f"nothing is lost while the spool has room; look into {scene.paths.log_dir}/collector.log"
        yield Finding("spool", Severity.ERROR, f"{records} records wait: {trouble}", do)
    elif size > NEARLY_FULL * limit:
        says = f"the spool has {size / 1e6:,.0f} of {limit / 1e6:,.0f} MB: the oldest content is dropped next"
        yield Finding("spool", Severity.ERROR, says, "free the collector, or raise SPANLORE_PROXY_SPOOL_MAX_BYTES")
    elif records and age_s > LATE_S:
        says = f"{records} records wait, the oldest for {duration(age_s)}"
        yield Finding("spool", Severity.WARNING, says, f"look into {scene.paths.log_dir}/proxy.log")
    else:
        yield Finding("spool", Severity.OK, f"{records} records on their way, {size / 1e6:,.1f} MB")


def completeness(scene: Scene) -> Iterator[Finding]:
    """Whether all that was seen is in the store: captured, stored, dropped, each with its reason."""
    yield from _dropped(scene)
    counters: Mapping[str, Mapping[str, int]] = scene.proxy.get("counters", {})
    if not counters:
        if scene.daemon is not None:
            yield Finding("completeness", Severity.NOTE, "the proxy has seen nothing yet", "spanlore run -- AGENT")
        return
    whole = counted(scene.proxy)
    says = f"{whole['captured']} captured, {whole['shipped']} in the store, {whole['waiting']} on their way"
    bad = _reasons(whole["lost"])
    if killed := whole["lost"].get(PROXY_KILLED):
        bad += f" ({killed} exchanges were answered but lost when the proxy was killed)"
    cut_off = sum(counters.get("cut_off", {}).values())
    stripped, past = _reasons(counters.get("stripped", {})), _reasons(counters.get("passthrough", {}))
    if bad:
        do = "the reasons count since the installation; `spanlore status` shows them, the proxy's log says when"
        yield Finding("completeness", Severity.WARNING, f"{says}; lost: {bad}", do)
    if stripped:
        says_more = f"kept without content: {stripped}"
        yield Finding("completeness", Severity.WARNING, says_more, "raise SPANLORE_PROXY_SPOOL_MAX_BYTES")
    if past:
        says_more = f"requests that went through untouched for a fault of ours: {past}"
        yield Finding("completeness", Severity.WARNING, says_more, f"please report it; {scene.paths.log_dir}/proxy.log")
    if cut_off:
        says_more = f"{several(cut_off, 'request')} under way when the proxy was killed: the agent saw it break off"
        yield Finding("completeness", Severity.NOTE, says_more, f"look into {scene.paths.log_dir}/proxy.log for why")
    if not bad and not stripped and not past:
        yield Finding("completeness", Severity.OK, f"{says}, nothing lost")


def _dropped(scene: Scene) -> Iterator[Finding]:
    """What the collector refused for good since it started, from whichever sender."""
    for signal, told in scene.arrived.get("collector", {}).items():
        if told.get("dropped"):
            says = (
                f"the collector dropped {signal}: {_reasons(told['dropped'])}; {told['stored']} stored since its start"
            )
            yield Finding("completeness", Severity.WARNING, says, f"the sender's mistake; see {scene.paths.log_dir}")


def store(scene: Scene) -> Iterator[Finding]:
    """The collector answers, writes, and its tables can be read."""
    if scene.daemon is None:
        return
    if "error" in scene.collector:
        do = f"look into {scene.paths.log_dir}/collector.log; what is captured waits in the spool"
        yield Finding("store", Severity.ERROR, str(scene.collector["error"]), do)
        return
    failure = scene.collector.get("ingest", {}).get("last_failure")
    if failure:
        yield Finding("store", Severity.WARNING, f"the last failed write: {failure}", "it is tried again by itself")
    try:
        scene.rows("SELECT count() FROM otel_traces")
    except StoreSilentError as error:
        yield Finding("store", Severity.ERROR, f"the store gives no rows: {error}", "spanlore down && spanlore up -d")
        return
    about = scene.collector.get("store", {})
    tables = about.get("tables", {})
    size_mb = sum(table.get("bytes", 0) for table in tables.values()) / 1e6
    spans = tables.get("otel_traces", {}).get("rows", 0)
    says = (
        f"{about.get('kind', '?')}, {several(spans, 'span')}, {size_mb:,.1f} MB, "
        f"{several(len(about.get('migrations', ())), 'migration')}"
    )
    yield Finding("store", Severity.OK, says)
    for table, share in about.get("filling", {}).items():
        says = f"{table} is being filled with what an older version stored: {share:.0%}"
        if about.get("filling_failure"):
            do = f"it is tried again; see {scene.paths.log_dir}/collector.log"
            yield Finding("store", Severity.WARNING, f"{says}; {about['filling_failure']}", do)
        else:
            yield Finding("store", Severity.OK, f"{says}; older sessions follow by themselves")


def activity(scene: Scene) -> Iterator[Finding]:
    """When each agent was last captured and last given a memory, and when sessions were last mined."""
    try:
        agents, mined = scene.rows(_ACTIVITY), scene.rows(_MINED)
    except StoreSilentError:
        return  # `store` says it
    now_ms = scene.now_ns // 10**6
    for row in agents:
        injected = int(row["injected_ms"])
        given = f"last given a memory {_ago(now_ms - injected)}" if injected > 0 else "no memory given"
        says = (
            f"{row['harness']}: last captured {_ago(now_ms - int(row['captured_ms']))}, {given}; "
            f"{row['sessions']} sessions in {DAYS} days"
        )
        yield Finding("activity", Severity.OK, says)
    if not agents:
        yield Finding("activity", Severity.NOTE, f"no agent was captured in {DAYS} days", "spanlore run -- AGENT")
        return
    mined_ms = int(mined[0]["mined_ms"]) if mined else 0
    late_ms = 4e3 * max(scene.settings.mining.interval_s, scene.settings.mining.idle_s)
    newest = max(int(row["captured_ms"]) for row in agents)
    if mined_ms <= 0 and now_ms - newest > late_ms:
        yield Finding("activity", Severity.WARNING, "sessions were never mined", f"{scene.paths.log_dir}/extractor.log")
    elif mined_ms > 0:
        yield Finding("activity", Severity.OK, f"last mined {_ago(now_ms - mined_ms)}")


def attested(scene: Scene) -> Iterator[Finding]:
    """Sessions whose requests the client signs: how memories reach them, by the user's own setting."""
    try:
        signed = sum(int(row["attested"]) for row in scene.rows(_ACTIVITY))
    except StoreSilentError:
        return
    if not signed:
        return
    choice = scene.settings.injection.attested
    says = {
        "client": "`spanlore run` hands the session block to the client, which signs it; hints are withheld",
        "rewrite": "they are rewritten all the same (injection.attested = rewrite); the server may refuse them",
        "off": "they get no memories (injection.attested = off)",
    }[choice]
    severity = Severity.WARNING if choice == "rewrite" else Severity.NOTE
    do = "set SPANLORE_INJECTION_ATTESTED to client, rewrite or off" if choice != "client" else ""
    yield Finding(
        "attested",
        severity,
        f"{several(signed, 'session')} in {DAYS} days with requests that the client signs: {says}",
        do,
    )


def prefix_alarm(scene: Scene) -> Iterator[Finding]:
    """No request of a conversation went out with a beginning that the client had not changed itself."""
    if scene.daemon is None:
        return
    counters: Mapping[str, Mapping[str, int]] = scene.proxy.get("counters", {})
    changed = {name: sum(reasons.values()) for name, reasons in counters.items() if name.startswith(ALARM)}
    if any(changed.values()):
        says = (
            f"the beginning of {several(sum(changed.values()), 'request')} changed without the client: "
            "prompt-cache reads are lost"
        )
        do = f"touch {scene.paths.kill_file} stops injection; please report it with `spanlore status --json`"
        yield Finding("prefix alarm", Severity.ERROR, says, do)
    else:
        yield Finding("prefix alarm", Severity.OK, "no request's beginning was changed")


def injection(scene: Scene) -> Iterator[Finding]:
    """Whether anything may be put into requests at all."""
    if scene.paths.kill_file.exists():
        says = f"{scene.paths.kill_file} exists: no memory is given anywhere"
        yield Finding("injection", Severity.WARNING, says, f"rm {scene.paths.kill_file}")
    elif not scene.settings.injection.enabled:
        yield Finding("injection", Severity.NOTE, "injection is switched off by setting (injection.enabled)")
    else:
        yield Finding("injection", Severity.OK, "memories may be given")


def _reasons(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)


def _ago(milliseconds: float) -> str:
    return f"{duration(max(milliseconds, 0) / 1e3)} ago"
