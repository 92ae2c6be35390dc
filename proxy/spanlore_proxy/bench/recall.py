"""`spanlore bench recall`: how long it takes to choose memories: in the proxy, by the warm API, as a command.

The decision in the proxy is `policy.decide`: what is chosen, worded and fitted to its budget, for a conversation's
first prompt, for a later prompt, for a failing result and for a plain result. (What else a request costs, `bench proxy`
tells, which can hold as many memories.) Command and API run against a real daemon that holds the same memories.
"""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from spanlore.main import group

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from spanlore.memory.memory import Memory
    from spanlore.recall.snapshot import Snapshot

SIZES: Final = (1_000, 10_000)
DECISION_BUDGET_MS: Final = 2.0
API_BUDGET_MS: Final = 10.0
COMMAND_BUDGET_MS: Final = 300.0
BATCH: Final = 500
_AREAS: Final = ("billing", "cart", "search", "auth", "ledger", "stock", "mail", "export", "report", "gateway")
_PROGRAMS: Final = ("pytest", "npm", "cargo", "go", "make", "docker", "kubectl", "alembic", "ruff", "terraform")
_FAILURES: Final = ("ImportError", "ENOENT", "ModuleNotFoundError", "EACCES", "ConnectionError")


def register(app: typer.Typer) -> None:
    """Adds `bench recall`."""

    @group(app, "bench", "Measure speed, as ratios within one run.").command("recall")
    def recall(
        requests: int = typer.Option(1_000, min=10, help="Decisions of each kind."),
        commands: int = typer.Option(5, min=1, help="Runs of the command."),
        as_json: bool = typer.Option(False, "--json", help="One JSON object on the last line."),
    ) -> None:
        """Time to choose memories among 1,000 and 10,000: in the proxy, by the API, as a command."""
        rows = [row for size in SIZES for row in decisions(made_up(size), requests)]
        with tempfile.TemporaryDirectory(prefix="spanlore-bench-") as folder:
            rows += daemon_rows(Path(folder), made_up(max(SIZES)), requests, commands)
        result = judge(rows)
        typer.echo(table(result))
        if as_json:
            typer.echo(json.dumps(result))
        if not result["within_budget"]:
            raise typer.Exit(1)


def made_up(count: int) -> list[Memory]:
    """So many memories of one repository, the same for the same count, as mining words them."""
    from spanlore.memory.memory import Kind, Memory, Source, Status, Trigger, memory_id
    from spanlore_proxy.bench.cache_sessions import SCOPE

    chance = random.Random(1)
    out = []
    for number in range(count):
        program, area = chance.choice(_PROGRAMS), chance.choice(_AREAS)
        path, value = f"services/{area}/part_{number}.py", f"uv run {program} services/{area}"
        text = (
            f"`{program} {path}` fails here with {chance.choice(_FAILURES)} when the {area} stack is down; "
            f"`{value} --part {number}` is the form that works."
        )
        out.append(
            Memory(
                id=memory_id(SCOPE, Kind.USAGE, program, f"slot{number}", value),
                kind=Kind.USAGE,
                source=Source.FAILURE_DELTA,
                status=Status.ACTIVE,
                scope=SCOPE,
                text=text,
                subject=f"{program} {area}",
                slot=f"slot{number}",
                value=value,
                trigger=Trigger((f"{number:016x}",), program, chance.choice(_FAILURES)),
                session_count=3,
                alpha=4.0,
                updated_at_ns=1_790_000_000_000_000_000 + number,
            )
        )
    return out


def prompts(count: int, seed: int = 7) -> Iterator[str]:
    """Prompts of all sorts: about something known, about a whole area, about nothing known, and long ones."""
    chance = random.Random(seed)
    for number in range(count):
        program, area = chance.choice(_PROGRAMS), chance.choice(_AREAS)
        yield (
            f"Look at services/{area}/part_{number}.py and make the {program} check of it pass.",
            f"Run {program} over the whole {area} stack and tell me what fails, then write a summary of it.",
            "Write a short poem about the sea and the wind of an autumn evening, please.",
            f"Explain the {area} service. " + " ".join(chance.choices((*_AREAS, *_PROGRAMS, *_FAILURES), k=300)),
        )[number % 4]


def decisions(memories: list[Memory], requests: int) -> list[dict[str, Any]]:
    """One row for each kind of request: milliseconds of the decision, and of making the index."""
    from spanlore.recall.snapshot import Snapshot
    from spanlore_proxy.bench.percentiles import percentile

    started_ns = time.perf_counter_ns()
    snapshot = Snapshot.of(memories)
    build_ms = (time.perf_counter_ns() - started_ns) / 1e6
    started_ns = time.perf_counter_ns()
    Snapshot.of(memories, before=snapshot)
    again_ms = (time.perf_counter_ns() - started_ns) / 1e6
    taken = _take(snapshot, requests)
    return [
        {
            "what": f"decision, {kind}, {len(memories)} memories",
            "p50_ms": round(percentile(times, 0.5), 3),
            "p99_ms": round(percentile(times, 0.99), 3),
            "index made ms": round(build_ms),
            "index made again ms": round(again_ms),
        }
        for kind, times in taken.items()
    ]


def _take(snapshot: Snapshot, requests: int) -> dict[str, list[float]]:
    from spanlore.genai.inference import CallClass
    from spanlore.settings.settings import InjectionSettings
    from spanlore.spans.place import Workplace
    from spanlore_proxy.bench.cache_sessions import SCOPE
    from spanlore_proxy.conversation.agent import Identity
    from spanlore_proxy.injection.facts import conversation_key, read_facts
    from spanlore_proxy.injection.ledger import MemoryLedger
    from spanlore_proxy.injection.policy import decide
    from spanlore_proxy.wire.codecs import read_request

    settings, ledger = InjectionSettings(withhold_share=0.1), MemoryLedger()
    programs = snapshot.failing_programs(SCOPE)
    workplace = Workplace(run_id="run-be0c4be0c4be", harness="claude-code", repository=SCOPE)
    taken: dict[str, list[float]] = {"first prompt": [], "later prompt": [], "failing result": [], "plain result": []}
    for number, prompt in enumerate(prompts(requests)):
        identity = Identity(session_id=f"bench-{number}", harness="claude-code", call_class=CallClass.MAIN)
        for kind, body in _bodies(prompt):
            request = read_request(body, _endpoint())
            key = conversation_key(request, identity, workplace)
            entry = ledger.load(key)
            facts = read_facts(
                request, identity, workplace, conversation=key, entry=entry, programs=programs, wants_prompt=True
            )
            started_ns = time.perf_counter_ns()
            plan = decide(facts, snapshot, entry, settings, number)
            taken[kind].append((time.perf_counter_ns() - started_ns) / 1e6)
            if plan.entry is not None:
                ledger.save(plan.entry)
    return taken


def _endpoint() -> Any:
    from spanlore.genai.inference import Dialect
    from spanlore_proxy.wire.dialect import Endpoint, Kind

    return Endpoint(Dialect.ANTHROPIC_MESSAGES, "bench", "chat", Kind.INFERENCE)


def _bodies(prompt: str) -> Iterator[tuple[str, bytes]]:
    """(kind, body) of a conversation's requests, 10 KB each."""
    system = [{"type": "text", "text": "You are an agent. " * 500}]
    said: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    yield "first prompt", _body(system, said)
    said += [_call("t1", "pytest -q"), _result("t1", "ok", is_error=False)]
    yield "plain result", _body(system, said)
    said += [_call("t2", "pytest -q"), _result("t2", "Exit code 4\nImportError: No module named 'x'", is_error=True)]
    yield "failing result", _body(system, said)
    said += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": f"Now this: {prompt}"}]
    yield "later prompt", _body(system, said)


def _body(system: Any, messages: Any) -> bytes:
    tools = [{"name": "Bash"}]
    return json.dumps({"model": "m", "system": system, "messages": messages, "tools": tools}).encode()


def _call(call_id: str, command: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}
    return {"role": "assistant", "content": [block]}


def _result(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": text, "is_error": is_error}
    return {"role": "user", "content": [block]}


def daemon_rows(folder: Path, memories: list[Memory], requests: int, commands: int) -> list[dict[str, Any]]:
    """Rows of the warm API and of the command, against a daemon of our own."""
    from http.client import HTTPConnection

    from spanlore_proxy.bench.cache_sessions import SCOPE
    from spanlore_proxy.bench.percentiles import percentile
    from spanlore_proxy.bench.targets import daemon

    with daemon(folder) as (paths, environment):
        port, token = json.loads(paths.daemon_file.read_text())["collector_port"], paths.token()
        with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            _post(connection, token, memories)
            asked = [urllib.parse.urlencode({"q": prompt[:500], "scope": SCOPE}) for prompt in prompts(requests)]
            _get(connection, token, asked[0])  # makes the index
            api = [_timed_ms(lambda query=query: _get(connection, token, query)) for query in asked]
        command = [sys.executable, "-m", "spanlore", "recall", "--scope", SCOPE, "run pytest over the billing stack"]
        runs = [
            _timed_ms(lambda: subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL))
            for _ in range(commands)
        ]
    return [
        {
            "what": f"warm API, {len(memories)} memories",
            "p50_ms": round(percentile(api, 0.5), 2),
            "p99_ms": round(percentile(api, 0.99), 2),
        },
        {
            "what": f"command, {len(memories)} memories",
            "p50_ms": round(percentile(runs, 0.5), 1),
            "p99_ms": round(percentile(runs, 0.99), 1),
        },
    ]


def _post(connection: HTTPConnection, token: str, memories: list[Memory]) -> None:
    from spanlore.memory.memory import memory_to_json

    for low in range(0, len(memories), BATCH):
        operations = [{"verb": "added", "memory": memory_to_json(item)} for item in memories[low : low + BATCH]]
        body = json.dumps({"operations": operations})
        connection.request("POST", "/v1/memories/operations", body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"the collector says {answer.status}: {answer.read()[:200]!r}")
        answer.read()


def _get(connection: HTTPConnection, token: str, query: str) -> None:
    connection.request("GET", f"/v1/recall?{query}", headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"the collector says {answer.status}: {body[:200]!r}")


def _timed_ms(work: Any) -> float:
    started_ns = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - started_ns) / 1e6


def judge(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rows with their budgets and whether they were kept."""
    limits = {"decision": ("p99_ms", DECISION_BUDGET_MS), "warm API": ("p50_ms", API_BUDGET_MS)}
    limits["command"] = ("p50_ms", COMMAND_BUDGET_MS)
    kept = []
    for row in rows:
        key, limit = limits[row["what"].partition(",")[0]]
        kept.append(row[key] <= limit)
    budgets = {f"{what} {key} at most": limit for what, (key, limit) in limits.items()}
    return {"bench": "recall", "rows": rows, "budgets": budgets, "within_budget": all(kept)}


def table(result: dict[str, Any]) -> str:
    """The rows for people."""
    lines = [f"{'what':52}{'p50 ms':>10}{'p99 ms':>10}"]
    lines += [f"{row['what']:52}{row['p50_ms']:>10.2f}{row['p99_ms']:>10.2f}" for row in result["rows"]]
    lines += [f"budget: {what} {limit} ms" for what, limit in result["budgets"].items()]
    lines.append("within budget" if result["within_budget"] else "NOT within budget")
    return "\n".join(lines)
