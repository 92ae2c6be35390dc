"""GET /v1/recall: the same choice that the proxy makes, from the memories as they are now."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson
from aiohttp import web

from spanlore.embedding.static import EmbeddingsMissingError, load_embed
from spanlore.memory.sharing import Sharing
from spanlore.recall.answer import Meaning, Question, answer, candidate_to_json
from spanlore.recall.snapshot import Snapshot
from spanlore_collector.api.guard import problem
from spanlore_collector.store.memories import MemoryTable

if TYPE_CHECKING:
    from spanlore.recall.meaning import Meanings

MAX_LIMIT = 100
BACKENDS = ("keyword", "hybrid", "none")


class RecallRoutes:
    """Keeps an index over the memories; it is made anew, off the event loop, when one was changed."""

    def __init__(self, table: MemoryTable, sharing: Sharing, backend: str = "keyword") -> None:
        """`backend` is `recall.backend`, for questions that name none."""
        self._table = table
        self._sharing = sharing
        self._backend = backend
        self._snapshot = Snapshot()
        self._meanings: Meanings | None = None
        self._meanings_of = Snapshot()
        """Whose memories those are."""
        self._making = asyncio.Lock()

    def add_to(self, app: web.Application) -> None:
        """Registers the route."""
        app.router.add_get("/v1/recall", self.recall)

    async def recall(self, request: web.Request) -> web.Response:
        """{"candidates": […], "memories": n, "took_ms": t, "backend": b} for ?q=, ?scope=, ?harness=, ?sub_path=,
        ?limit=, ?budget_tokens=, ?kind=, ?path=, ?branch= and ?backend=. With ?command= and ?exit_code=: for what that
        command printed as it failed."""
        try:
            question = _question(request.query)
            backend = _backend(request.query, self._backend)
        except ValueError as error:
            return problem(400, str(error))
        snapshot = await self._current()
        try:
            meaning = await self._meaning(snapshot) if backend == "hybrid" else None
        except EmbeddingsMissingError as error:
            return problem(501, str(error))
        started_ns = time.perf_counter_ns()
        candidates = answer(snapshot, question, meaning) if backend != "none" else []
        took_ms = (time.perf_counter_ns() - started_ns) / 1e6
        document = {
            "candidates": [candidate_to_json(candidate) for candidate in candidates],
            "memories": len(snapshot.memories),
            "took_ms": round(took_ms, 3),
            "backend": backend,
        }
        return web.Response(body=orjson.dumps(document), content_type="application/json")

    async def _current(self) -> Snapshot:
        async with self._making:
            etag, _ = self._table.snapshot()
            if etag != self._snapshot.etag:
                self._snapshot = await asyncio.to_thread(
                    Snapshot.of, self._table.shown(), etag, 0, self._sharing, self._snapshot
                )
            return self._snapshot

    async def _meaning(self, snapshot: Snapshot) -> Meaning:
        """The vectors of the snapshot's memories, made off the event loop."""
        async with self._making:
            if self._meanings is None or self._meanings_of is not snapshot:
                self._meanings = await asyncio.to_thread(_vectors, snapshot, self._meanings)
                self._meanings_of = snapshot
            return self._meanings


def _vectors(snapshot: Snapshot, before: Meanings | None) -> Meanings:
    from spanlore.recall.meaning import Meanings

    return Meanings.of(snapshot.memories, load_embed(), before)


def _backend(given: Mapping[str, str], standard: str) -> str:
    backend = given.get("backend", "") or standard
    if backend not in BACKENDS:
        raise ValueError(f"there is no backend {backend}; there are {', '.join(BACKENDS)}")
    return backend


def _question(given: Mapping[str, str]) -> Question:
    query = given.get("q", "").strip()
    if not query:
        raise ValueError("say what to recall: ?q=…")
    try:
        limit, budget = int(given.get("limit", "8")), int(given.get("budget_tokens", "250"))
        exit_code = int(given["exit_code"]) if "exit_code" in given else None
    except ValueError:
        raise ValueError("limit, budget_tokens and exit_code are numbers") from None
    if not 0 < limit <= MAX_LIMIT or budget < 0:
        raise ValueError(f"limit is 1 to {MAX_LIMIT}, budget_tokens is not negative")
    return Question(
        query,
        given.get("scope", ""),
        given.get("harness", ""),
        given.get("sub_path", ""),
        limit,
        budget,
        given.get("kind", ""),
        given.get("path", ""),
        given.get("branch", ""),
        given.get("command", ""),
        exit_code,
    )
