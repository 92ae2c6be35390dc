"""Pages of sessions: the list, one session, and the pieces that scripts fetch."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from aiohttp import web

from spanlore.memory.memory import Memory
from spanlore_collector.store.reader import Reader
from spanlore_collector.store.session_tree import TurnNode
from spanlore_collector.store.summaries import what_is_left
from spanlore_dashboards.web import one_session
from spanlore_dashboards.web.conversation import TURNS_A_PAGE, read_chunk, read_talk, span_ids
from spanlore_dashboards.web.one_session import OneSession, SpanDetail, is_running
from spanlore_dashboards.web.session_list import Choices, SessionFilter, choices, find_sessions
from spanlore_dashboards.web.site import Site, asked
from spanlore_dashboards.web.waterfall import (
    CHUNK_ROWS,
    Chunk,
    Overview,
    Section,
    overview,
    sections,
    windowed,
    with_heads,
)

CHOICES_FOR_NS: Final = 20 * 10**9
"""What can be filtered for changes slowly."""
KEPT_SESSIONS: Final = 2
"""Whose rows are kept, for the pieces that a script fetches after the page."""
HEADS_AT_ONCE: Final = 500
MAX_PIECES: Final = 8
"""Of a timeline, in one answer."""
OUTCOMES: Final = (
    ("", "Any outcome"),
    ("failed", "A tool failed"),
    ("clean", "No tool failed"),
    ("error", "A model call failed"),
    ("interrupted", "Interrupted"),
    ("memory", "Memories injected"),
)
PERIODS: Final = ((0, "All time"), (1, "24 hours"), (7, "7 days"), (30, "30 days"), (90, "90 days"))
SORTS: Final = (
    ("newest", "Newest"),
    ("cost", "Cost"),
    ("tokens", "Tokens"),
    ("failures", "Failures"),
    ("duration", "Duration"),
)


class SessionPages:
    """Routes of sessions."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._choices: tuple[int, Choices] | None = None
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get("/sessions", self.listing)
        app.router.add_get("/sessions/{id}", self.session)
        app.router.add_get("/sessions/{id}/timeline", self.timeline)
        app.router.add_get("/sessions/{id}/rows", self.rows)
        app.router.add_get("/sessions/{id}/talk", self.talk)
        app.router.add_get("/sessions/{id}/spans/{span}", self.span)
        app.router.add_get("/sessions/{id}/content/{hash}", self.content)
        app.router.add_get("/traces/{trace}", self.trace)

    async def listing(self, request: web.Request) -> web.Response:
        """The sessions that fit the filter."""
        wanted = asked(SessionFilter, request.query)
        now_ns = self._site.now_ns()
        found, offered = await asyncio.gather(
            self._site.asking.read(lambda reader: find_sessions(reader, wanted, now_ns)), self._offered(now_ns)
        )
        running = {row["session_id"] for row in found.rows if is_running(row, now_ns)}
        return await self._site.page(
            "sessions.html",
            "sessions",
            wanted=wanted,
            found=found,
            choices=offered,
            running=running,
            outcomes=OUTCOMES,
            periods=PERIODS,
            sorts=SORTS,
        )

    async def session(self, request: web.Request) -> web.Response:
        """One session, as a timeline or as a conversation; `?span=` opens a span of it. Of a session past its days, its
        summary."""
        session_id = request.match_info["id"]
        kept, left = await asyncio.gather(
            self._read(session_id), self._site.asking.read(lambda reader: what_is_left(reader, session_id))
        )
        if kept is None:
            if left is None:
                raise web.HTTPNotFound(text=f"There is no session {session_id}.")
            return await self._site.page("kept.html", "sessions", kept=left)
        session, is_live = kept.session, is_running(kept.session.row, self._site.now_ns())
        is_whole = request.query.get("all") == "1"
        view = "conversation" if request.query.get("view") == "conversation" else "timeline"
        span_id = request.query.get("span", "")
        values: dict[str, Any] = {"view": view, "span_id": span_id, "detail": None, "talk": None, "memories": {}}
        if view == "timeline":
            values |= await self._drawn(kept, span_id, is_live=is_live, is_whole=is_whole)
            if span_id:
                values |= await self._span_values(session.row["session_id"], span_id)
        else:
            main = [turn for turn in session.turns if turn.row["end"] != "none"]
            first = _first_turn(request.query.get("turn", ""), main, span_id)
            values["talk"] = await self._site.asking.read(
                lambda reader: read_talk(reader, session.row["session_id"], main, first, span_id, is_whole=is_whole)
            )
            values["memories"] = await self._memories()
        return await self._site.page(
            "session.html",
            "sessions",
            session=session,
            left=left,
            is_live=is_live,
            **values,
        )

    async def timeline(self, request: web.Request) -> web.Response:
        """The timeline with the figures above it; 304 when they are as the script has them."""
        kept = await self._found(request)
        live = is_running(kept.session.row, self._site.now_ns())
        summaries = "-".join(section.summary for section in await _sections(kept))[-400:]
        etag = f'"{summaries}-{len(kept.session.turns)}-{"live" if live else "ended"}"'
        if request.headers.get("If-None-Match") == etag:
            return web.Response(status=304, headers={"ETag": etag})
        drawn = await self._drawn(kept, "", is_live=live)
        answer = self._site.fragment("live.html", session=kept.session, is_live=live, span_id="", **drawn)
        answer.headers["ETag"] = etag
        answer.headers["Cache-Control"] = "no-cache"
        return answer

    async def rows(self, request: web.Request) -> web.Response:
        """Some rows of turns, a piece for each `?at=KEY:FIRST`: the turn's key, the index of the first row."""
        kept = await self._kept_or_found(request)
        laid_out = await _sections(kept)
        pieces = [_piece(laid_out, given) for given in request.query.getall("at", [])[:MAX_PIECES]]
        chunks = [chunk for chunk in pieces if chunk is not None]
        if not chunks or len(chunks) < len(pieces):
            raise web.HTTPNotFound(text="There are no such rows in this session.")
        shown = [bar.span_id for chunk in chunks for bar in chunk.bars]
        heads = await self._heads(kept.session.row["session_id"], shown)
        return self._site.fragment("pieces.html", chunks=[with_heads(chunk, heads) for chunk in chunks], span_id="")

    async def talk(self, request: web.Request) -> web.Response:
        """Some steps of a turn: `?turn=` its span, `?chunk=` their chunk's number."""
        kept = await self._kept_or_found(request)
        turn = next((one for one in kept.session.turns if one.row["span_id"] == request.query.get("turn")), None)
        number, session_id = _index(request.query.get("chunk", "0")), kept.session.row["session_id"]
        chunk = None
        if turn is not None:
            chunk = await self._site.asking.read(lambda reader: read_chunk(reader, session_id, turn, number))
        if chunk is None:
            raise web.HTTPNotFound(text="There are no such steps in this session.")
        has_placed = any(step.placed for step in chunk.spoken.steps) if chunk.spoken else False
        memories = await self._memories() if has_placed else {}
        return self._site.fragment(
            "steps.html", session_id=session_id, chunk=chunk, turn=turn, span_id="", memories=memories
        )

    async def span(self, request: web.Request) -> web.Response:
        """What is known of one span, for the panel beside the timeline."""
        values = await self._span_values(request.match_info["id"], request.match_info["span"])
        if values["detail"] is None:
            raise web.HTTPNotFound(text="There is no such span in this session.")
        return self._site.fragment("span.html", session_id=request.match_info["id"], **values)

    async def content(self, request: web.Request) -> web.Response:
        """A piece of content, whole, as plain text."""
        session_id, content_hash = request.match_info["id"], request.match_info["hash"]
        body = await self._site.asking.read(lambda reader: one_session.read_content(reader, session_id, content_hash))
        if body is None:
            raise web.HTTPNotFound(text="There is no such content in this session.")
        return web.Response(text=body.encode("utf-8", "replace").decode(), content_type="text/plain")

    async def trace(self, request: web.Request) -> web.Response:
        """To the session that a trace is of: what dashboards link to."""
        trace_id = request.match_info["trace"]
        rows = await self._site.asking.read(
            lambda reader: reader.rows(
                "SELECT session_id, parent_span_id FROM inferences WHERE trace_id = {trace:String} LIMIT 1",
                {"trace": trace_id},
            )
        )
        if not rows:
            raise web.HTTPNotFound(text="No session has such a trace.")
        target = self._site.session_path(rows[0]["session_id"])
        turn = rows[0]["parent_span_id"]
        return web.Response(status=303, headers={"Location": f"{target}#turn-{turn}" if turn else target})

    async def _read(self, session_id: str) -> Kept | None:
        """As the store has it now."""
        kept = await self._site.asking.read(lambda reader: _read(reader, session_id))
        if kept is not None:
            self._kept[session_id] = kept
            self._kept.move_to_end(session_id)
            if len(self._kept) > KEPT_SESSIONS:
                self._kept.popitem(last=False)
        return kept

    async def _found(self, request: web.Request) -> Kept:
        session_id = request.match_info["id"]
        kept = await self._read(session_id)
        if kept is None:
            raise web.HTTPNotFound(text=f"There is no session {session_id}.")
        return kept

    async def _kept_or_found(self, request: web.Request) -> Kept:
        """As the page that asks for more of it had it, if that is at hand."""
        return self._kept.get(request.match_info["id"]) or await self._found(request)

    async def _drawn(
        self, kept: Kept, span_id: str, *, is_live: bool = False, is_whole: bool = False
    ) -> dict[str, Any]:
        """The timeline's values; only what is drawn is asked for its content."""
        laid_out, strip = await _sections(kept), await asyncio.to_thread(lambda: kept.overview)
        found = windowed(laid_out, span_id, is_live=is_live, is_whole=is_whole)
        shown = [bar.span_id for one in found for chunk in one.chunks if chunk.is_drawn for bar in chunk.bars]
        heads = await self._heads(kept.session.row["session_id"], shown)

        def told(section: Section) -> Section:
            chunks = (with_heads(chunk, heads) if chunk.is_drawn else chunk for chunk in section.chunks)
            return replace(section, chunks=tuple(chunks))

        return {"sections": [told(section) for section in found], "overview": strip}

    async def _heads(self, session_id: str, span_ids: list[str]) -> dict[str, str]:
        def read(reader: Reader) -> dict[str, str]:
            out: dict[str, str] = {}
            for low in range(0, len(span_ids), HEADS_AT_ONCE):
                out |= one_session.read_heads(reader, session_id, span_ids[low : low + HEADS_AT_ONCE])
            return out

        return await self._site.asking.read(read)

    async def _span_values(self, session_id: str, span_id: str) -> dict[str, Any]:
        detail: SpanDetail | None = await self._site.asking.read(
            lambda reader: one_session.read_span(reader, session_id, span_id)
        )
        has_placed = detail is not None and bool(detail.placed)
        return {"detail": detail, "memories": await self._memories() if has_placed else {}}

    async def _memories(self) -> dict[str, Memory]:
        found = await self._site.asking.call(lambda client: client.memories())
        return {memory.id: memory for memory in found}

    async def _offered(self, now_ns: int) -> Choices:
        if self._choices is None or now_ns - self._choices[0] > CHOICES_FOR_NS:
            self._choices = (now_ns, await self._site.asking.read(choices))
        return self._choices[1]


@dataclass(frozen=True)
class Kept:
    """A session as it was read last. Its rows take as long as reading it: they are laid out for who shows them."""

    session: OneSession

    @cached_property
    def sections(self) -> list[Section]:
        """One a turn."""
        return sections(self.session.turns)

    @cached_property
    def overview(self) -> Overview:
        """The strip above them."""
        return overview(self.session.turns)


def _read(reader: Reader, session_id: str) -> Kept | None:
    session = one_session.read_session(reader, session_id)
    return None if session is None else Kept(session)


async def _sections(kept: Kept) -> list[Section]:
    """In a thread: a long session takes a while to be laid out, and others have pages to be answered."""
    return await asyncio.to_thread(lambda: kept.sections)


def _piece(found: Iterable[Section], given: str) -> Chunk | None:
    key, _, first = given.rpartition(":")
    section = next((one for one in found if one.key == key), None)
    if section is None or not 0 <= _index(first) < len(section.bars):
        return None
    (whole,) = windowed([section], is_whole=True)
    return whole.chunks[_index(first) // CHUNK_ROWS]


def _index(given: str) -> int:
    return int(given) if given.isdecimal() and len(given) < 9 else -1


def _first_turn(given: str, turns: list[TurnNode], span_id: str) -> int:
    """The first turn of the page that was asked for, or of the one that the span is on."""
    at = int(given) - 1 if given.isdecimal() and len(given) < 9 else 0
    if span_id:
        at = next((n for n, turn in enumerate(turns) if span_id in _ids(turn)), at)
    return max(0, min(at, len(turns) - 1)) // TURNS_A_PAGE * TURNS_A_PAGE


def _ids(turn: TurnNode) -> set[str]:
    return {turn.row["span_id"], *span_ids([turn])}
