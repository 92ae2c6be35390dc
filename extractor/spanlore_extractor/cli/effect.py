"""`spanlore effect` and `spanlore cost`: what memories do, and what they cost."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spanlore import completion
from spanlore.ending import USAGE, WRONG
from spanlore.figures import cost as money
from spanlore.figures import several, short_count
from spanlore.terminal import show, tell
from spanlore_extractor.cli.daemon import Json, daemon, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from spanlore.memory.memory import Memory
    from spanlore_collector.store.ledgers import CostRow
    from spanlore_extractor.effect.estimate import Effect, Share

MAX_ROWS = 100


def register(app: typer.Typer) -> None:
    """Adds `effect` and `cost`."""
    app.command("effect", help="What memories do: recurrence with and without, used or not, tokens.")(effect)
    app.command("cost", help="What agents cost, in tokens and money; what spanlore itself cost is listed apart.")(cost)


def effect(
    memory_id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="One memory; how its id begins.",
            autocompletion=completion.memories,
        ),
    ] = "",
    apply: Annotated[bool, typer.Option("--apply", help="Promote, demote and retire by the rules now.")] = False,
    as_json: Json = False,
) -> None:
    """How often what a memory speaks of came back, with it and without."""
    from spanlore_extractor.effect.estimate import LEVEL, MIN_SESSIONS, estimates
    from spanlore_extractor.effect.reading import contradicted, read_counts, read_exposure, read_units
    from spanlore_extractor.effect.rules import apply_rules

    with daemon() as (reader, client):
        known = [memory for memory in client.memories() if memory.id.startswith(memory_id)]
        if memory_id and not known:
            tell(f"spanlore: there is no memory {memory_id!r}. `spanlore memories --all` lists them.")
            raise typer.Exit(WRONG)
        ids = [memory.id for memory in known] if memory_id else []
        effects = estimates(read_units(reader, known, ids))
        counts, exposure = read_counts(reader, ids), read_exposure(reader, ids)
        denied = [row for row in contradicted(reader) if not ids or row["memory_id"] in ids]
        due = apply_rules(known, effects)
        if apply and due:
            client.apply(due)
    document = {
        "level": LEVEL,
        "min_sessions_of_each_arm": MIN_SESSIONS,
        "memories": [
            memory_to_json(memory, effects.get(memory.id), counts, exposure.get(memory.id, 0))
            for memory in known
            if memory_id or memory.id in effects or memory.id in exposure
        ],
        "contradicted": denied,
        "due": [{"id": item.memory.id, "status": item.memory.status.value, "reason": item.reason} for item in due],
        "applied": apply,
    }
    if as_json:
        print_json(document)
    else:
        show(effect_view(document, is_one=bool(memory_id)))


def cost(
    by: Annotated[str, typer.Option(help="day, repository, agent, model or session.")] = "day",
    days: Annotated[int, typer.Option(min=1, help="How far back.")] = 30,
    as_json: Json = False,
) -> None:
    """The ledgers side by side."""
    import time

    from spanlore_collector.store.ledgers import BY, read_costs

    if by not in BY:
        tell(f"spanlore: --by is one of {', '.join(BY)}, not {by!r}.")
        raise typer.Exit(USAGE)
    with daemon() as (reader, _):
        rows = read_costs(reader, by, time.time_ns() - days * 86_400_000_000_000)
    if as_json:
        print_json({"by": by, "days": days, "rows": [asdict(row) for row in rows]})
    elif rows:
        show(cost_view(rows, by))
    else:
        tell(f"Nothing was recorded in the last {days} days.")


def memory_to_json(
    memory: Memory, effect: Effect | None, counts: Sequence[Mapping[str, Any]], requests: int
) -> dict[str, Any]:
    """One memory's effect: shares with their numbers, the difference with its interval or null, and its exposure."""
    mine = [row for row in counts if row["memory_id"] == memory.id]
    line_tokens = max((int(row["line_tokens"]) for row in mine), default=0)
    return {
        "id": memory.id,
        "status": memory.status.value,
        "kind": memory.kind.value,
        "text": memory.text,
        "verdict": effect.verdict if effect else "too few",
        "recurred_shown": _share(effect.shown if effect else None),
        "recurred_withheld": _share(effect.withheld if effect else None),
        "used_shown": _share(effect.used if effect else None),
        "used_withheld": _share(effect.used_withheld if effect else None),
        "difference": round(effect.difference, 4) if effect and effect.is_enough else None,
        "interval": [round(end, 4) for end in effect.interval] if effect and effect.is_enough else None,
        "exposed_requests": requests,
        "exposed_tokens": requests * line_tokens,
        "opportunities": [
            {key: row[key] for key in ("kind", "state", "reason", "requests", "last_ns")} for row in mine
        ],
    }


def effect_view(document: Mapping[str, Any], *, is_one: bool) -> RenderableType:
    """The effects for people, 80 columns."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for name in ("id", "effect"):
        table.add_column(name, no_wrap=True)
    for name in ("with", "without", "used"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("what is shown", ratio=1, min_width=16)
    order = {"harms": 0, "helps": 1, "open": 2, "too few": 3}
    memories = sorted(document["memories"], key=lambda item: (order[item["verdict"]], item["id"]))
    for item in memories[:MAX_ROWS]:
        told = item["verdict"] if item["difference"] is None else f"{item['difference']:+.2f} {item['verdict']}"
        table.add_row(
            item["id"],
            told,
            _of(item["recurred_shown"]),
            _of(item["recurred_withheld"]),
            _of(item["used_shown"]),
            f"{item['exposed_tokens']:,}",
            Text(item["text"], overflow="ellipsis", no_wrap=not is_one),
        )
    lines = [Text(line) for line in _remarks(document, is_one=is_one)]
    if not memories:
        return Group(Text("No memory had an opportunity to be shown yet."), *lines)
    return Group(table, *lines)


def _remarks(document: Mapping[str, Any], *, is_one: bool) -> list[str]:
    level = f"{document['level']:.0%}"
    out = [
        "",
        "with, without: in how many sessions it came back, of those that showed it, of",
        f"those that withheld it; {document['min_sessions_of_each_arm']} of each are needed to tell anything.",
        "used: sessions that used what it names. tokens: what showing it added to requests.",
    ]
    for item in document["memories"] if is_one else ():
        if item["interval"]:
            low, high = item["interval"]
            out.append(f"difference {item['difference']:+.3f}, {level} interval {low:+.3f} to {high:+.3f}")
        out += [
            f"  {row['kind']}, {row['state']} {row['reason']}".replace("_", " ").rstrip()
            + f": {several(row['requests'], 'request')}"
            for row in item["opportunities"]
        ]
    for row in document["contradicted"]:
        out.append(f"{row['memory_id']} was withheld {row['opportunities']} times: the user's own words say otherwise")
    for row in document["due"]:
        verb = "is now" if document["applied"] else "would be"
        out.append(f"{row['id']} {verb} {row['status']}: {row['reason']}")
    if document["due"] and not document["applied"]:
        out.append("`spanlore effect --apply` does it now; mining does it by itself.")
    return out


def cost_view(rows: Sequence[CostRow], by: str) -> RenderableType:
    """The ledgers for people, side by side: days newest first, anything else dearest first, and the sum of each."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from spanlore.figures import distinct, scope_name

    size = distinct(row.key for row in rows)
    if by != "day":
        rows = sorted(rows, key=lambda row: (-(row.usd or 0), -row.tokens, row.key))
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(by, ratio=1, min_width=10, overflow="fold")
    for name in ("requests", "tokens", "cost", "exposed", "internal", "cache delta"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows[:MAX_ROWS]:
        name = scope_name(row.key) if by == "repository" else row.key[:size] if by == "session" else row.key
        table.add_row(name or "–", *_ledgers([row]))
    if len(rows) > 1:
        table.add_row(f"all {len(rows):,}", *_ledgers(rows), style="bold")
    lines = [
        "",
        "tokens and cost are the agents' own, in US dollars. exposed: memories in their",
        "requests; internal: spanlore's own model calls; cache delta: cached tokens lost",
        "by a change of ours. The four are not to be added up.",
    ]
    if len(rows) > MAX_ROWS:
        lines.append(f"Shown are {MAX_ROWS} of {len(rows):,}; `--json` has all.")
    unpriced = sum(row.unpriced_requests for row in rows)
    if unpriced:
        lines.append(f"{unpriced:,} requests have no known price and are in no sum of money.")
    return Group(table, *(Text(line) for line in lines))


def _ledgers(rows: Sequence[CostRow]) -> Iterator[str]:
    """The cells of some rows together."""

    def usd(name: str) -> float | None:
        known = [value for row in rows if (value := getattr(row, name)) is not None]
        return sum(known) if known else None

    def tokens(name: str) -> int:
        return sum(getattr(row, name) for row in rows)

    yield f"{sum(row.requests for row in rows):,}"
    yield short_count(tokens("tokens"))
    yield money(usd("usd"))
    for name in ("exposed", "internal", "cache_delta"):
        count = tokens(f"{name}_tokens")
        yield f"{short_count(count)} {money(usd(f'{name}_usd'))}" if count else "0"


def _share(share: Share | None) -> dict[str, int]:
    return {"hits": share.hits, "of": share.of} if share else {"hits": 0, "of": 0}


def _of(share: Mapping[str, int]) -> str:
    return f"{share['hits']}/{share['of']}" if share["of"] else "–"
