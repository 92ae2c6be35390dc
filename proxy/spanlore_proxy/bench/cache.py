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
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import typer

from spanlore.main import group

if TYPE_CHECKING:
    from spanlore.genai.inference import Dialect
    from spanlore_proxy.demo.prompt_cache import CacheUsage
    from spanlore_proxy.injection.injector import Injector

LENGTHS: Final = (30, 200)
LOSS_BUDGET: Final = 0.001
"""DESIGN §11: prompt-cache read share lost, absolute."""
ARMS: Final = ("direct", "captured", "injected")


class Cache(Protocol):
    """A model of a provider's prompt cache."""

    def account(self, document: dict[str, Any]) -> CacheUsage: ...


def register(app: typer.Typer) -> None:
    """Adds `bench cache`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("cache")
    def cache(
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Prompt-cache read share: direct, captured only and injected, over sessions of 30 and 200 requests."""
        with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as folder:
            result = measure(Path(folder))
        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


def measure(folder: Path, lengths: Iterable[int] = LENGTHS) -> dict[str, Any]:
    """All rows, the budget, and whether it was kept."""
    from spanlore.genai.inference import Dialect
    from spanlore_proxy.bench.automatic_cache import AutomaticCache
    from spanlore_proxy.bench.cache_sessions import anthropic_bodies, chat_bodies
    from spanlore_proxy.demo.prompt_cache import PromptCache

    rows: list[dict[str, Any]] = []
    for requests in lengths:
        for name, dialect, bodies, make in (
            ("breakpoints and look-back", Dialect.ANTHROPIC_MESSAGES, list(anthropic_bodies(requests)), PromptCache),
            ("automatic prefix", Dialect.OPENAI_CHAT, list(chat_bodies(requests)), AutomaticCache),
        ):
            what = f"{name}, {requests} requests"
            rows.append(_row(what, bodies, dialect, make(), make(), make(), folder / f"{len(rows)}.sqlite"))
    return judge(rows)


def _row(
    what: str, bodies: list[bytes], dialect: Dialect, direct: Cache, captured: Cache, injected: Cache, ledger: Path
) -> dict[str, Any]:
    read, total = account(bodies, direct)
    bare_read, bare_total = account(forwarded(bodies, dialect, ledger.with_suffix(".off"), is_on=False)[0], captured)
    sent, insertions, alarms = forwarded(bodies, dialect, ledger, is_on=True)
    with_read, with_total = account(sent, injected)
    return {
        "what": what,
        "direct read_share": round(read / total, 6),
        "captured read_share": round(bare_read / bare_total, 6),
        "injected read_share": round(with_read / with_total, 6),
        "captured loss": round(read / total - bare_read / bare_total, 6),
        "injected loss": round(read / total - with_read / with_total, 6),
        "input added tokens": with_total - total,
        "not from cache added tokens": (with_total - with_read) - (total - read),
        "requests injected count": insertions,
        "prefix alarms count": alarms,
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


def forwarded(bodies: list[bytes], dialect: Dialect, ledger: Path, *, is_on: bool) -> tuple[list[bytes], int, int]:
    """(what leaves the proxy, requests with an insertion, alarms) of one session; the proxy restarts half-way."""
    from spanlore.genai.inference import CallClass
    from spanlore.spans.place import Workplace
    from spanlore_proxy.bench.cache_sessions import SCOPE
    from spanlore_proxy.capture.ledger_db import LedgerDb
    from spanlore_proxy.conversation.agent import Identity
    from spanlore_proxy.wire.codecs import read_request
    from spanlore_proxy.wire.dialect import Endpoint, Kind

    endpoint = Endpoint(dialect, "bench", "chat", Kind.INFERENCE)
    harness = "claude-code" if dialect.value.startswith("anthropic") else "qwen-code"
    identity = Identity(session_id="bench", harness=harness, call_class=CallClass.MAIN)
    workplace = Workplace(run_id="run-be0c4be0c4be", harness=harness, repository=SCOPE)
    sent, insertions, alarms = [], 0, 0
    db = LedgerDb(ledger)
    injector = _injector(db, is_on=is_on)
    for number, body in enumerate(bodies):
        if number == len(bodies) // 2:
            db.close()
            db = LedgerDb(ledger)
            injector = _injector(db, is_on=is_on)
        prepared = injector.prepare(body, endpoint, read_request(body, endpoint), identity, workplace, ())
        sent.append(prepared.body)
        insertions += bool(prepared.insertions)
        alarms += bool(prepared.alarm)
    db.close()
    return sent, insertions, alarms


def _injector(ledger: Any, *, is_on: bool) -> Injector:
    from spanlore.recall.snapshot import Snapshot
    from spanlore.settings.settings import InjectionSettings, Settings
    from spanlore_proxy.bench.cache_sessions import memories
    from spanlore_proxy.injection.injector import Injector

    snapshot = Snapshot.of(memories())
    settings = Settings(injection=InjectionSettings(enabled=is_on, withhold_share=0, deadline_ms=10_000))
    return Injector(
        settings, ledger, lambda: snapshot, clock_ns=time.perf_counter_ns, now_ns=time.time_ns, is_killed=lambda: False
    )


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows with the budget of DESIGN §11 and whether it was kept."""
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
    lines = [f"{'model of the cache, session':36}" + "".join(f"{arm:>10}" for arm in ARMS) + f"{'loss':>10}"]
    for row in result["rows"]:
        values = "".join(f"{row[f'{arm} read_share']:>10.4f}" for arm in ARMS)
        lines.append(f"{row['what']:36}{values}{row['injected loss']:>10.6f}")
    lines.append(f"budget: a loss of at most {LOSS_BUDGET} of the read share, absolute")
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)
