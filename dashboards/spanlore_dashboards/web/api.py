"""The HTTP API, `/api/v1`: what the pages show, for programs. `/api/v1/openapi.json` describes it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal

import orjson
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

import spanlore
from spanlore.memory.categories import category_of
from spanlore.memory.memory import Memory
from spanlore.memory.sharing import Sharing
from spanlore.recall.answer import Candidate, Question, answer
from spanlore.recall.snapshot import Snapshot
from spanlore.redaction.redact import Redactor
from spanlore_collector.store.api_client import RequestRefusedError, VersionConflictError
from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.session_tree import ToolNode, TurnNode, placements
from spanlore_collector.store.summaries import as_session, what_is_left
from spanlore_dashboards.web import answers, health, memory_reading, one_session
from spanlore_dashboards.web.costs import CostFilter, read_costs, today
from spanlore_dashboards.web.effects import read_opportunities
from spanlore_dashboards.web.guard import problem
from spanlore_dashboards.web.memory_actions import ActionError, act, remember
from spanlore_dashboards.web.memory_reading import MemoryFilter, choose, page_of
from spanlore_dashboards.web.openapi import Operation, document
from spanlore_dashboards.web.searching import SearchFilter, search
from spanlore_dashboards.web.session_list import SessionFilter, find_sessions
from spanlore_dashboards.web.site import Site, told

ROOT: Final = "/api/v1"
WEEK_NS: Final = 7 * 86_400 * 10**9


class RecallFilter(BaseModel):
    """For whom memories are chosen."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: str = Field("", max_length=500, description="Scope key of a repository; empty: the user's own only")
    agent: str = Field("", max_length=100, description="The harness")
    signature: str = Field("", max_length=64, description="A failure's signature: what would be shown beside it")
    program: str = Field("", max_length=200, description="With error_class: what would be shown beside such a failure")
    error_class: str = Field("", max_length=200)
    q: str = Field("", max_length=200, description="What the agent is about to do: those that this text is about")
    limit: int = Field(20, ge=1, le=200)


class Action(BaseModel):
    """What is to be done to a memory."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    action: Literal["edit", "pin", "unpin", "confirm", "reject", "forget", "undo", "merge"]
    text: str = Field("", max_length=4000, description="Of an edit")
    version: int | None = Field(None, ge=1, description="The version it was decided on; a newer one is a conflict")

    @field_validator("version", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """JSON knows one kind of number: 2.0 is an integer of its schema's."""
        return int(value) if isinstance(value, float) and value.is_integer() else value


class Remembered(BaseModel):
    """What is to be remembered, in the user's words."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    text: str = Field(min_length=1, max_length=4000)
    scope: str = Field(max_length=500, description="Scope key of a repository that an agent has worked in, or `user`")


def _at(method: str, path: str, name: str, summary: str, answer: type[BaseModel], **more: Any) -> Operation:
    return Operation(method, ROOT + path, name, summary, answer, **more)


OPERATIONS: Final = (
    _at("GET", "/sessions", "listSessions", "Sessions that fit a filter", answers.SessionList, query=SessionFilter),
    _at("GET", "/sessions/{id}", "getSession", "One session as a tree", answers.SessionTree),
    _at("GET", "/sessions/{id}/spans/{span}", "getSpan", "One span with its content", answers.Span),
    _at("GET", "/memories", "listMemories", "Memories that fit a filter", answers.MemoryList, query=MemoryFilter),
    _at("POST", "/memories", "remember", "Remember the user's own words", answers.Changed, body=Remembered),
    _at("GET", "/memories/{id}", "getMemory", "One memory, its life and its uses", answers.MemoryDetail),
    _at("POST", "/memories/{id}/actions", "changeMemory", "Change a memory", answers.Changed, body=Action),
    _at("GET", "/search", "search", "Where a text stands in sessions", answers.SearchResult, query=SearchFilter),
    _at("GET", "/recall", "recall", "Memories in order of choice", answers.RecallResult, query=RecallFilter),
    _at("GET", "/cost", "getCost", "What was spent, by day and name", answers.Cost, query=CostFilter),
    _at("GET", "/health", "getHealth", "Whether everything is captured", answers.Health),
)

type Handler = Callable[[web.Request], Awaitable[BaseModel]]


class Api:
    """Routes of the API."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._redactor = Redactor(site.settings.capture.redact)
        self._sharing = Sharing(site.settings.memory.forks, site.settings.memory.public_repositories)
        self._document = orjson.dumps(document([operation for operation, _ in self._routes()], spanlore.__version__))

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get(f"{ROOT}/openapi.json", self.openapi)
        for operation, handler in self._routes():
            app.router.add_route(operation.method, operation.path, _answering(handler))

    def _routes(self) -> list[tuple[Operation, Handler]]:
        handlers: dict[str, Handler] = {
            "listSessions": self.sessions,
            "getSession": self.session,
            "getSpan": self.span,
            "listMemories": self.memories,
            "remember": self.remember,
            "getMemory": self.memory,
            "changeMemory": self.change,
            "search": self.search,
            "recall": self.recall,
            "getCost": self.cost,
            "getHealth": self.health,
        }
        return [(operation, handlers[operation.name]) for operation in OPERATIONS]

    async def openapi(self, request: web.Request) -> web.Response:
        """The document."""
        return web.Response(body=self._document, content_type="application/json")

    async def sessions(self, request: web.Request) -> BaseModel:
        """A page of sessions."""
        wanted, now_ns = _query(SessionFilter, request), self._site.now_ns()
        page = await self._site.asking.read(lambda reader: find_sessions(reader, wanted, now_ns))
        return answers.SessionList.model_validate(
            {"sessions": page.rows, **{name: getattr(page, name) for name in _PAGE}}
        )

    async def session(self, request: web.Request) -> BaseModel:
        """A session's tree."""
        session_id = _named(request, "id")
        found, left = await asyncio.gather(
            self._site.asking.read(lambda reader: one_session.read_session(reader, session_id)),
            self._site.asking.read(lambda reader: what_is_left(reader, session_id)),
        )
        if found is not None:
            row, turns = {**found.row, "models": found.models}, [_turn(turn) for turn in found.turns]
        elif left is not None:
            row, turns = as_session(left), []
        else:
            raise web.HTTPNotFound(text=f"there is no session {session_id}")
        summary = {**left, "parts": orjson.loads(left["json"])} if left else None
        return answers.SessionTree.model_validate({"session": row, "turns": turns, "summary": summary})

    async def span(self, request: web.Request) -> BaseModel:
        """A span."""
        session_id, span_id = _named(request, "id"), _named(request, "span")
        found = await self._site.asking.read(lambda reader: one_session.read_span(reader, session_id, span_id))
        if found is None:
            raise web.HTTPNotFound(text=f"there is no span {span_id} in session {session_id}")
        return answers.Span(
            kind=found.kind,
            span_id=span_id,
            parts=[answers.Part.model_validate(part) for part in found.parts],
            attributes=found.row,
        )

    async def memories(self, request: web.Request) -> BaseModel:
        """Memories."""
        wanted = _query(MemoryFilter, request)
        known = await self._site.asking.call(lambda client: client.memories())
        page = page_of(choose(known, wanted), wanted)
        found = [_memory(memory) for memory in page.memories]
        return answers.MemoryList(memories=found, found=page.found, page=page.page, pages=page.pages)

    async def remember(self, request: web.Request) -> BaseModel:
        """Keeps the user's own words."""
        wanted = await _body(Remembered, request)
        try:
            known, worked_in = await asyncio.gather(
                self._site.asking.call(lambda client: client.memories()),
                self._site.asking.read(memory_reading.repositories),
            )
            scopes = [*worked_in, *(memory.scope for memory in known)]
            words = self._redactor.redact(wanted.text).text
            operations = remember(words, wanted.scope, known, scopes, self._site.now_ns())
            await self._site.asking.call(lambda client: client.apply(operations))
        except (ActionError, VersionConflictError, RequestRefusedError) as error:
            raise web.HTTPConflict(text=str(error)) from None
        return answers.Changed(memory=_memory(operations[0].memory))

    async def memory(self, request: web.Request) -> BaseModel:
        """One memory."""
        memory = await self._memory_named(_named(request, "id"))
        events, uses, chances, effects = await asyncio.gather(
            self._site.asking.call(lambda client: client.events(memory.id)),
            self._site.asking.read(lambda reader: memory_reading.uses_of(reader, memory.id)),
            self._site.asking.read(lambda reader: read_opportunities(reader, memory.id)),
            self._site.effects(),
        )
        found = {"memory": _memory(memory), "events": events, "uses": uses, "opportunities": chances}
        return answers.MemoryDetail.model_validate({**found, "effect": effects.get(memory.id)})

    async def change(self, request: web.Request) -> BaseModel:
        """Changes a memory."""
        wanted = await _body(Action, request)
        memory = await self._memory_named(_named(request, "id"))
        if wanted.version is not None and wanted.version != memory.version:
            raise web.HTTPConflict(text=f"it is at version {memory.version}; read it again, and decide from that")
        try:
            known, events = await asyncio.gather(
                self._site.asking.call(lambda client: client.memories()),
                self._site.asking.call(lambda client: client.events(memory.id)),
            )
            words = self._redactor.redact(wanted.text).text
            operations = act(memory, wanted.action, known, self._site.now_ns(), words, events)
            await self._site.asking.call(lambda client: client.apply(operations))
        except (ActionError, VersionConflictError, RequestRefusedError) as error:
            raise web.HTTPConflict(text=str(error)) from None
        return answers.Changed(memory=_memory(operations[0].memory))

    async def search(self, request: web.Request) -> BaseModel:
        """Where a text stands."""
        wanted = _query(SearchFilter, request)
        hits = await self._site.asking.read(lambda reader: search(reader, wanted))
        return answers.SearchResult.model_validate({"hits": hits})

    async def recall(self, request: web.Request) -> BaseModel:
        """Memories in the order in which they would be chosen."""
        wanted = _query(RecallFilter, request)
        memories = await self._site.asking.call(lambda client: client.snapshot())
        snapshot = await asyncio.to_thread(Snapshot.of, memories, "", 0, self._sharing)
        failure = (wanted.signature, wanted.program, wanted.error_class)
        if any(failure):
            matches = snapshot.answering(wanted.scope, wanted.agent, *failure)
            found = [answers.Recalled(memory=_memory(match.memory)) for match in matches]
        elif wanted.q:
            question = Question(wanted.q, wanted.scope, wanted.agent, limit=wanted.limit)
            found = [_recalled(candidate) for candidate in answer(snapshot, question)]
        else:
            chosen = snapshot.in_scope(wanted.scope, wanted.agent)
            found = [answers.Recalled(memory=_memory(memory)) for memory in chosen]
        return answers.RecallResult(recalled=found[: wanted.limit])

    async def cost(self, request: web.Request) -> BaseModel:
        """What was spent."""
        wanted, now = _query(CostFilter, request), today(self._site.now_ns())
        costs = await self._site.asking.read(lambda reader: read_costs(reader, wanted, now))
        return answers.Cost.model_validate(costs)

    async def health(self, request: web.Request) -> BaseModel:
        """How spanlore is."""
        now_ns, paths = self._site.now_ns(), self._site.paths
        capture, processes = await asyncio.to_thread(
            lambda: (health.read_capture(paths, now_ns), health.read_processes(paths))
        )
        hours = await self._site.asking.read(lambda reader: health.read_overhead_by_hour(reader, now_ns - WEEK_NS))
        return answers.Health.model_validate({"capture": capture, "processes": processes, "overhead_by_hour": hours})

    async def _memory_named(self, memory_id: str) -> Memory:
        memory = await self._site.asking.call(lambda client: client.memory(memory_id))
        if memory is None:
            raise web.HTTPNotFound(text=f"there is no memory {memory_id}")
        return memory


_PAGE: Final = ("found", "failed", "tokens", "cost_usd", "page", "pages")


def _answering(handler: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def respond(request: web.Request) -> web.Response:
        try:
            found = await handler(request)
        except StoreUnavailableError:
            raise
        except web.HTTPException as error:
            return problem(error.status, error.text or error.reason)
        return web.Response(text=found.model_dump_json(), content_type="application/json")

    return respond


def _query[M: BaseModel](model: type[M], request: web.Request) -> M:
    given: Mapping[str, str] = request.query
    if len(set(given)) != len(given):
        raise web.HTTPBadRequest(text="a parameter is given twice")
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise web.HTTPBadRequest(text=told(error)) from None


async def _body[M: BaseModel](model: type[M], request: web.Request) -> M:
    if request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(text="send JSON, with Content-Type: application/json")
    try:
        return model.model_validate_json(await request.read())
    except ValidationError as error:
        raise web.HTTPBadRequest(text=told(error)) from None


def _named(request: web.Request, name: str) -> str:
    return request.match_info[name]


def _memory(memory: Memory) -> answers.Memory:
    known = {name: getattr(memory, name) for name in answers.Memory.model_fields if name != "category"}
    return answers.Memory.model_validate({**known, "category": category_of(memory).value})


def _recalled(candidate: Candidate) -> answers.Recalled:
    return answers.Recalled(
        memory=_memory(candidate.memory),
        score=candidate.score,
        matched=list(candidate.matched),
        cut=candidate.cut,
    )


def _turn(turn: TurnNode) -> dict[str, Any]:
    chats = [
        {**chat.row, "placements": placements(chat.row), "tools": [_tool(tool) for tool in chat.tools]}
        for chat in turn.chats
    ]
    return {**turn.row, "chats": chats, "tools": [_tool(tool) for tool in turn.tools]}


def _tool(tool: ToolNode) -> dict[str, Any]:
    return {**tool.row, "turns": [_turn(turn) for turn in tool.turns]}
