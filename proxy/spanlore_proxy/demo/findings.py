"""What really happened: read from the store, from the model server's own log, and from the request log.

Nothing here is taken from the story; every check compares two witnesses that do not know each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from spanlore.memory.memory import Memory
from spanlore.settings import Paths
from spanlore_proxy.capture.wire_log import LoggedInsertion, LoggedRequest, WireLogReader
from spanlore_proxy.demo.model_request import ReceivedRequest, content_blocks
from spanlore_proxy.demo.model_server import ModelServer
from spanlore_proxy.demo.project import SCOPE
from spanlore_proxy.demo.store_view import StoreView
from spanlore_proxy.demo.story import Cast, Session

OUR_TAGS = (b"<spanlore-memory", b"<spanlore-hint")
MAX_REQUESTS = 1000


@dataclass(frozen=True, slots=True)
class Figures:
    """What the task cost in one session, from the store: that one turn, not the whole session."""

    session: Session
    requests: int
    tool_calls: int
    failures: int
    input_tokens: int
    cache_read_tokens: int
    output_tokens: int
    cost_usd: float | None
    injected_bytes: int
    """In each request, at most."""


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool call, from the store."""

    session: Session
    command: str
    outcome: str
    exit_code: int | None
    error_line: str


@dataclass(frozen=True, slots=True)
class Insertion:
    """One piece of text that was put into a forwarded request, from the request log."""

    session: Session
    request_id: str
    """Of the first request that carried it."""
    requests: int
    """How many carried the very same bytes."""
    offset: int
    where: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that has to have happened."""

    claim: str
    is_true: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Findings:
    """All of it."""

    span_count: int
    figures: tuple[Figures, ...]
    tools: tuple[ToolRow, ...]
    memories: tuple[Memory, ...]
    insertions: tuple[Insertion, ...]
    checks: tuple[Check, ...]

    @property
    def is_good(self) -> bool:
        return all(check.is_true for check in self.checks)


def gather(cast: Cast, store: StoreView, server: ModelServer, paths: Paths) -> Findings:
    """Reads everything and checks it."""
    figures = tuple(_figures(store, session) for session in cast)
    tools = tuple(row for session in cast for row in _tools(store, session))
    memories = tuple(memory for memory in store.memories() if memory.is_shown)
    pairs = _match(server.main_loop(), paths)
    insertions = tuple(_insertions(cast, pairs))
    checks = (
        _check_captured(store, server, cast),
        _check_failures(tools, cast),
        _check_learned(store, memories),
        _check_block(server, cast, insertions),
        _check_hint(server, cast, insertions),
        _check_second_run(tools, cast),
        _check_clean(server, pairs),
    )
    spans = int(store.rows("SELECT uniqExact(SpanId) AS n FROM otel_traces")[0]["n"])
    return Findings(spans, figures, tools, memories, insertions, checks)


def _figures(store: StoreView, session: Session) -> Figures:
    where = "session_id = {session:String} AND turn_index = {turn:UInt32} AND call_class = 'main'"
    names = {"session": session.id, "turn": str(session.task_turn)}
    spent = store.rows(
        "SELECT count() AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output, "
        "sum(cache_read_tokens) AS cached, toFloat64(sum(cost_usd)) AS cost, max(injected_bytes) AS injected "
        f"FROM (SELECT * FROM inferences WHERE {where} LIMIT 1 BY span_id)",
        **names,
    )[0]
    used = store.rows(
        "SELECT count() AS calls, countIf(outcome = 'failure') AS failures "
        f"FROM (SELECT * FROM tool_calls WHERE {where} LIMIT 1 BY span_id)",
        **names,
    )[0]
    return Figures(
        session=session,
        requests=int(spent["requests"]),
        tool_calls=int(used["calls"]),
        failures=int(used["failures"]),
        input_tokens=int(spent["input"] or 0),
        cache_read_tokens=int(spent["cached"] or 0),
        output_tokens=int(spent["output"] or 0),
        cost_usd=None if spent["cost"] is None else float(spent["cost"]),
        injected_bytes=int(spent["injected"] or 0),
    )


def _tools(store: StoreView, session: Session) -> Iterable[ToolRow]:
    rows = store.rows(
        "SELECT command, outcome, exit_code, error_line FROM tool_calls WHERE session_id = {session:String} "
        "ORDER BY start_time LIMIT 1 BY span_id",
        session=session.id,
    )
    for row in rows:
        code = None if row["exit_code"] is None else int(row["exit_code"])
        yield ToolRow(session, row["command"], row["outcome"], code, row["error_line"])


type Pair = tuple[ReceivedRequest, LoggedRequest]


def _match(received: Sequence[ReceivedRequest], paths: Paths) -> list[Pair]:
    """Each body the model server received with what the proxy logged of it, found by its hash."""
    log = WireLogReader(paths.wire_log)
    try:
        logged = {entry.forwarded_sha256: entry for entry in log.newest(MAX_REQUESTS)}
    finally:
        log.close()
    found = ((request, logged.get(hashlib.sha256(request.body).hexdigest())) for request in received)
    return [(request, entry) for request, entry in found if entry is not None]


def _insertions(cast: Cast, pairs: Sequence[Pair]) -> Iterable[Insertion]:
    sessions = {session.id: session for session in cast}
    seen: dict[tuple[str, bytes], list[tuple[str, int]]] = {}
    for request, entry in pairs:
        for item in entry.insertions:
            seen.setdefault((request.session_id, item.data.encode()), []).append((entry.id, item.offset))
    for (session_id, data), places in seen.items():
        where = "end of the system prompt" if OUR_TAGS[0] in data else "beside the failing tool result"
        request_id, offset = places[0]
        yield Insertion(sessions[session_id], request_id, len(places), offset, where, data)


def _check_captured(store: StoreView, server: ModelServer, cast: Cast) -> Check:
    rows = store.rows("SELECT session_id, uniqExact(span_id) AS n FROM inferences GROUP BY session_id")
    stored = {row["session_id"]: int(row["n"]) for row in rows}
    sent = {session.id: len(server.main_loop(session.id)) for session in cast}
    good = all(stored.get(identity, 0) >= number > 0 for identity, number in sent.items())
    return Check("every request the model got is in the store", good, f"{sum(sent.values())} requests")


def _check_failures(tools: Iterable[ToolRow], cast: Cast) -> Check:
    failed = [row for row in tools if row.session.id == cast.first.id and row.outcome == "failure"]
    good = bool(failed) and all(row.exit_code == 1 and row.error_line for row in failed)
    return Check(
        "run 1 failed, and was recorded as failed with exit code and error line", good, _several(failed, "call")
    )


def _check_learned(store: StoreView, memories: Sequence[Memory]) -> Check:
    cited = {item.span_id for memory in memories for item in memory.evidence}
    known = {row["id"] for row in store.rows("SELECT DISTINCT SpanId AS id FROM otel_traces")}
    good = bool(cited) and cited <= known and all(memory.scope == SCOPE for memory in memories)
    return Check(
        "what was learned belongs to this repository and cites spans that exist",
        good,
        f"{len(memories)} memories, {len(cited)} spans",
    )


def _check_block(server: ModelServer, cast: Cast, insertions: Iterable[Insertion]) -> Check:
    requests = server.main_loop(cast.second.id)
    last_blocks = {request.system_texts[-1] for request in requests if request.system_texts}
    blocks = [item for item in insertions if item.session.id == cast.second.id and OUR_TAGS[0] in item.data]
    good = (
        len(requests) > 0
        and len(last_blocks) == 1
        and next(iter(last_blocks)).encode().startswith(OUR_TAGS[0])
        and len(blocks) == 1
        and blocks[0].requests == len(requests)
    )
    return Check("run 2 starts with the memory: last system block, same bytes in every request", good)


def _check_hint(server: ModelServer, cast: Cast, insertions: Iterable[Insertion]) -> Check:
    hints = [item for item in insertions if item.session.id == cast.open.id and OUR_TAGS[1] in item.data]
    requests = server.main_loop(cast.open.id)
    beside = any(_has_hint_beside_failure(request) for request in requests)
    blockless = not any(OUR_TAGS[0] in request.body for request in requests)
    return Check(
        "the open session got the hint beside its failing tool result, and no block",
        bool(hints) and beside and blockless,
    )


def _has_hint_beside_failure(request: ReceivedRequest) -> bool:
    for message in request.messages:
        blocks = content_blocks(message)
        has_failure = any(block.get("type") == "tool_result" and block.get("is_error") for block in blocks)
        if has_failure and str(blocks[-1].get("text", "")).encode().startswith(OUR_TAGS[1]):
            return True
    return False


def _check_second_run(tools: Iterable[ToolRow], cast: Cast) -> Check:
    rows = [row for row in tools if row.session.id == cast.second.id]
    good = bool(rows) and all(row.outcome == "success" for row in rows)
    return Check("run 2 did not fail once", good, _several(rows, "tool call"))


def _check_clean(server: ModelServer, pairs: Sequence[Pair]) -> Check:
    """Without what the log says was put in, each forwarded body is the client's, and free of our text."""
    good = len(pairs) == len(server.main_loop()) and len(pairs) > 0
    for request, entry in pairs:
        client = without_insertions(request.body, entry.insertions)
        is_same = hashlib.sha256(client).hexdigest() == entry.client_sha256
        good = good and is_same and not any(tag in client for tag in OUR_TAGS)
    return Check("no client body held our text; forwarded = client + insertions, by hash", good, f"{len(pairs)} bodies")


def _several(items: Sequence[object], word: str) -> str:
    return f"{len(items)} {word}{'' if len(items) == 1 else 's'}"


def without_insertions(forwarded: bytes, insertions: Sequence[LoggedInsertion]) -> bytes:
    """The client's body again; b'' when the insertions are not where they are said to be."""
    out, position, added = [], 0, 0
    for item in sorted(insertions, key=lambda item: item.offset):
        data, start = item.data.encode(), item.offset + added
        if forwarded[start : start + len(data)] != data:
            return b""
        out.append(forwarded[position:start])
        position = start + len(data)
        added += len(data)
    return b"".join([*out, forwarded[position:]])


def figures_json(figures: Figures) -> dict[str, Any]:
    """The figures under names with units."""
    return {
        "what": figures.session.name,
        "session_id": figures.session.id,
        "requests": figures.requests,
        "tool_calls": figures.tool_calls,
        "failures": figures.failures,
        "input_tokens": figures.input_tokens,
        "cache_read_tokens": figures.cache_read_tokens,
        "output_tokens": figures.output_tokens,
        "cost_usd": figures.cost_usd,
        "injected_bytes_per_request": figures.injected_bytes,
    }
