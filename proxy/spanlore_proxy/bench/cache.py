"""`spanlore bench cache`: the share of input that a provider's prompt cache serves, without and with spanlore.

The same session three times, each on a server of its own: sent directly, through spanlore that injects nothing, and
through spanlore with memories. The requests go through the very code that rewrites them in the proxy, its ledger on
disk, reopened in the middle as after a restart; the servers are models of what the providers document
(`demo.prompt_cache`, `bench.automatic_cache`), no provider.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import typer

from spanlore.main import group

if TYPE_CHECKING:
    from spanlore.genai.inference import Dialect
    from spanlore.memory.memory import Memory
    from spanlore_proxy.demo.prompt_cache import CacheUsage
    from spanlore_proxy.injection.injector import Injector

LENGTHS: Final = (30, 200)
LOSS_BUDGET: Final = 0.001
"""Prompt-cache read share lost, absolute."""
ARMS: Final = ("direct", "captured", "injected")
MODELS: Final = {"anthropic_messages": "breakpoints", "openai_chat": "automatic prefix"}


class Cache(Protocol):
    """A model of a provider's prompt cache."""

    def account(self, document: dict[str, Any]) -> CacheUsage: ...


def register(app: typer.Typer) -> None:
    """Adds `bench cache`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("cache")
    def cache(
        recordings: Path | None = typer.Option(None, help="Folder with session files and recorded API traffic."),
        sessions: int = typer.Option(8, min=1, help="Of the recorded session files at most so many, spread evenly."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Prompt-cache read share: direct, captured only and injected, over sessions of 30 and 200 requests, and over
        recorded ones."""
        with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as folder:
            rows = measure(Path(folder))["rows"]
            if recordings is not None:
                rows += measure_recordings(Path(folder), recordings, sessions)
        result = judge(rows)
        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


def measure(folder: Path, lengths: Iterable[int] = LENGTHS) -> dict[str, Any]:
    """All rows, the budget, and whether it was kept."""
    from spanlore.genai.inference import Dialect
    from spanlore_proxy.bench.cache_sessions import anthropic_bodies, chat_bodies

    rows: list[dict[str, Any]] = []
    for requests in lengths:
        for dialect, bodies in (
            (Dialect.ANTHROPIC_MESSAGES, list(anthropic_bodies(requests))),
            (Dialect.OPENAI_CHAT, list(chat_bodies(requests))),
        ):
            played = play(bodies, dialect, folder / f"{len(rows)}.sqlite")
            rows.append(row(f"{MODELS[dialect.value]}, {requests} requests", [played]))
    return judge(rows)


def measure_recordings(folder: Path, recordings: Path, sessions: int) -> list[dict[str, Any]]:
    """A row for each API and kind of recording, all its sessions together, each on servers of its own."""
    from spanlore_proxy.bench.cache_recordings import cassettes_below, transcripts_below

    found = list(transcripts_below(recordings))
    names = list(dict.fromkeys(one.name for one in found))
    kept = set(names[:: max(1, -(-len(names) // sessions))])
    kinds = {
        "session files": [one for one in found if one.name in kept],
        "cassettes": list(cassettes_below(recordings)),
    }
    rows = []
    for kind, recorded in kinds.items():
        for dialect in dict.fromkeys(one.dialect for one in recorded):
            mine = [one for one in recorded if one.dialect is dialect]
            played = [
                play(list(one.bodies), dialect, folder / f"{kind[0]}{dialect}{number}.sqlite", one.memories)
                for number, one in enumerate(mine)
            ]
            rows.append(row(f"{MODELS[dialect.value]}, {len(mine)} {kind}", played))
    return rows


@dataclass(frozen=True, slots=True)
class Played:
    """One session on all three servers; tokens."""

    requests: int
    read: int
    total: int
    captured_read: int
    captured_total: int
    injected_read: int
    injected_total: int
    injected_requests: int
    alarms: int


def play(bodies: list[bytes], dialect: Dialect, ledger: Path, known: Iterable[Memory] = ()) -> Played:
    """The session direct, captured and injected."""
    from spanlore.genai.inference import Dialect as Spoken
    from spanlore_proxy.bench.automatic_cache import AutomaticCache
    from spanlore_proxy.demo.prompt_cache import PromptCache

    make: type[Cache] = PromptCache if dialect is Spoken.ANTHROPIC_MESSAGES else AutomaticCache
    direct = account(bodies, make())
    captured = account(forwarded(bodies, dialect, ledger.with_suffix(".off"), is_on=False)[0], make())
    sent, insertions, alarms = forwarded(bodies, dialect, ledger, is_on=True, known=known)
    return Played(len(bodies), *direct, *captured, *account(sent, make()), insertions, alarms)


def row(what: str, played: Sequence[Played]) -> dict[str, Any]:
    """Sessions added up."""
    read, total = (sum(getattr(one, name) for one in played) for name in ("read", "total"))
    bare_read, bare_total = (sum(getattr(one, name) for one in played) for name in ("captured_read", "captured_total"))
    with_read, with_total = (sum(getattr(one, name) for one in played) for name in ("injected_read", "injected_total"))
    return {
        "what": what,
        "sessions count": len(played),
        "requests count": sum(one.requests for one in played),
        "direct read_share": round(read / total, 6),
        "captured read_share": round(bare_read / bare_total, 6),
        "injected read_share": round(with_read / with_total, 6),
        "captured loss": round(read / total - bare_read / bare_total, 6),
        "injected loss": round(read / total - with_read / with_total, 6),
        "input added tokens": with_total - total,
        "not from cache added tokens": (with_total - with_read) - (total - read),
        "requests injected count": sum(one.injected_requests for one in played),
        "prefix alarms count": sum(one.alarms for one in played),
    }


def account(bodies: Iterable[bytes], cache: Cache) -> tuple[int, int]:
    """(tokens read from the cache, all input tokens) of a session."""
    import orjson

    read = total = 0
    for body in bodies:
        usage = cache.account(orjson.loads(body))
        read += usage.cache_read_tokens
        total += usage.total_tokens
    return read, total


def forwarded(
    bodies: list[bytes], dialect: Dialect, ledger: Path, *, is_on: bool, known: Iterable[Memory] = ()
) -> tuple[list[bytes], int, int]:
    """(what leaves the proxy, requests with an insertion, alarms) of one session; the proxy restarts half-way. Both
    alarms count: that of the plan, and that of the forwarded bodies."""
    import orjson

    from spanlore.genai.inference import CallClass
    from spanlore.spans.place import Workplace
    from spanlore_proxy.bench.cache_sessions import SCOPE
    from spanlore_proxy.capture.ledger_db import LedgerDb
    from spanlore_proxy.conversation.agent import Identity
    from spanlore_proxy.injection.upstream import UpstreamWatch
    from spanlore_proxy.wire.codecs import read_request
    from spanlore_proxy.wire.dialect import Endpoint, Kind

    endpoint = Endpoint(dialect, "bench", "chat", Kind.INFERENCE)
    harness = "claude-code" if dialect.value.startswith("anthropic") else "qwen-code"
    identity = Identity(session_id="bench", harness=harness, call_class=CallClass.MAIN)
    workplace = Workplace(run_id="run-be0c4be0c4be", harness=harness, repository=SCOPE)
    sent, insertions, alarms = [], 0, 0
    db, watch = LedgerDb(ledger), UpstreamWatch()
    injector = _injector(db, known, is_on=is_on)
    for number, body in enumerate(bodies):
        if number == len(bodies) // 2:
            db.close()
            db = LedgerDb(ledger)
            injector = _injector(db, known, is_on=is_on)
        request = read_request(body, endpoint)
        prepared = injector.prepare(body, endpoint, request, identity, workplace, ())
        sent.append(prepared.body)
        insertions += bool(prepared.insertions)
        alarms += bool(prepared.alarm)
        if prepared.watched is not None:
            upstream = orjson.loads(prepared.body)
            alarms += bool(watch.check(prepared.watched, dialect, request.document, upstream, len(body)))
    db.close()
    return sent, insertions, alarms


def _injector(ledger: Any, known: Iterable[Memory], *, is_on: bool) -> Injector:
    from spanlore.recall.snapshot import Snapshot
    from spanlore.settings.settings import InjectionSettings, Settings
    from spanlore_proxy.bench.cache_sessions import memories
    from spanlore_proxy.injection.injector import Injector

    snapshot = Snapshot.of([*known, *memories()])
    settings = Settings(injection=InjectionSettings(enabled=is_on, withhold_share=0, deadline_ms=10_000))
    return Injector(
        settings, ledger, lambda: snapshot, clock_ns=time.perf_counter_ns, now_ns=time.time_ns, is_killed=lambda: False
    )


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows with the budget and whether it was kept."""
    kept = all(
        row["captured loss"] <= LOSS_BUDGET
        and row["injected loss"] <= LOSS_BUDGET
        and row["requests injected count"] > 0
        and row["prefix alarms count"] == 0
        for row in rows
    )
    budgets = {"loss of read share, absolute, at most": LOSS_BUDGET, "prefix alarms at most": 0}
    return {"bench": "cache", "rows": rows, "budgets": budgets, "within_budget": kept}


def table(result: dict[str, Any]) -> str:
    """The rows for people."""
    lines = [f"{'model of the cache, sessions':36}" + "".join(f"{arm:>10}" for arm in ARMS) + f"{'loss':>10}"]
    for row in result["rows"]:
        values = "".join(f"{row[f'{arm} read_share']:>10.4f}" for arm in ARMS)
        lines.append(f"{row['what']:36}{values}{row['injected loss']:>10.6f}")
    lines.append(f"budget: a loss of at most {LOSS_BUDGET} of the read share, absolute")
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)
