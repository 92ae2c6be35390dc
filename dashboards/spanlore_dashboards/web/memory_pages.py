"""Pages of memories: the list with its review queue, and one memory with what proves it and what may be done to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from spanlore.memory.categories import category_of
from spanlore.memory.memory import Memory, Status
from spanlore.memory.merging import twin_of
from spanlore.memory.stated import MAX_STATEMENT_CHARS
from spanlore.redaction.redact import Redactor
from spanlore_collector.store.api_client import RequestRefusedError, VersionConflictError
from spanlore_dashboards.web import memory_reading
from spanlore_dashboards.web.effects import read_opportunities
from spanlore_dashboards.web.guard import FORM_FIELD, is_own_form
from spanlore_dashboards.web.memory_actions import DONE, ActionError, act, offered, remember, undoable
from spanlore_dashboards.web.memory_reading import MemoryFilter, View, choose, in_view, page_of
from spanlore_dashboards.web.site import Site, asked

VIEWS: Final[tuple[tuple[View, str], ...]] = (
    ("live", "Live"),
    ("review", "To review"),
    ("ended", "Ended"),
    ("all", "All"),
)


class MemoryPages:
    """Routes of memories."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._redactor = Redactor(site.settings.capture.redact)

    def add_to(self, app: web.Application) -> None:
        """Registers the routes."""
        app.router.add_get("/memories", self.listing)
        app.router.add_post("/memories", self.remember)
        app.router.add_get("/memories/{id}", self.memory)
        app.router.add_post("/memories/{id}", self.change)

    async def listing(self, request: web.Request) -> web.Response:
        """The memories that fit the filter."""
        query = {name: value for name, value in request.query.items() if name not in ("done", "id")}
        wanted = asked(MemoryFilter, query)
        done = DONE.get(request.query.get("done", ""), "")
        return await self._listed(wanted, done=done, done_id=request.query.get("id", ""))

    async def remember(self, request: web.Request) -> web.Response:
        """Keeps the user's own words, from the form: `text` and `scope`."""
        form = await request.post()
        self._check_form(request, str(form.get(FORM_FIELD, "")))
        text, scope = str(form.get("text", "")), str(form.get("scope", ""))
        words = self._redactor.redact(text).text
        try:
            known, worked_in = await asyncio.gather(
                self._site.asking.call(lambda client: client.memories()),
                self._site.asking.read(memory_reading.repositories),
            )
            scopes = [*worked_in, *(memory.scope for memory in known)]
            operations = remember(words, scope, known, scopes, self._site.now_ns())
            await self._site.asking.call(lambda client: client.apply(operations))
        except (ActionError, VersionConflictError, RequestRefusedError) as error:
            wanted = MemoryFilter.model_validate({})
            return await self._listed(wanted, trouble=str(error), text=text, scope=scope, status=409)
        return web.Response(status=303, headers={"Location": f"/memories/{operations[0].memory.id}?done=remember"})

    async def _listed(
        self,
        wanted: MemoryFilter,
        *,
        done: str = "",
        done_id: str = "",
        trouble: str = "",
        text: str = "",
        scope: str = "",
        status: int = 200,
    ) -> web.Response:
        memories, shown, effects, worked_in = await asyncio.gather(
            self._site.asking.call(lambda client: client.memories()),
            self._site.asking.read(memory_reading.shown_in),
            self._site.effects(),
            self._site.asking.read(memory_reading.repositories),
        )
        return await self._site.page(
            "memories.html",
            "memories",
            status=status,
            done=done,
            done_memory=next((memory for memory in memories if done and memory.id == done_id), None),
            can_undo=done != DONE["undo"],
            trouble=trouble,
            text=text,
            for_scope=scope or wanted.scope,
            for_scopes=_in_order(worked_in, memories),
            max_chars=MAX_STATEMENT_CHARS,
            wanted=wanted,
            found=page_of(choose(memories, wanted), wanted),
            shown=shown,
            effects=effects,
            views=[(view, name, sum(in_view(memory, view) for memory in memories)) for view, name in VIEWS],
            scopes=sorted(Counter(memory.scope for memory in memories).items()),
            kinds=sorted(Counter(memory.kind.value for memory in memories).items()),
            categories=sorted(Counter(category_of(memory).value for memory in memories).items()),
            category_of=category_of,
            twins=_twins(memories),
            offered=offered,
        )

    async def memory(self, request: web.Request) -> web.Response:
        """One memory."""
        memory = await self._found(request.match_info["id"])
        return await self._shown(memory, request.query.get("done", ""), "", memory.text)

    async def change(self, request: web.Request) -> web.Response:
        """Does what a form asks for, and shows the outcome: `action`, `text` of an edit, and the version it was made
        from, so that nobody's change is lost."""
        form = await request.post()
        self._check_form(request, str(form.get(FORM_FIELD, "")))
        memory = await self._found(request.match_info["id"])
        action, text = str(form.get("action", "")), str(form.get("text", ""))
        try:
            if str(form.get("version", "")) != str(memory.version):
                raise ActionError("It was changed meanwhile. Here is what it says now; do it again if it still fits.")
            known, events = await asyncio.gather(
                self._site.asking.call(lambda client: client.memories()),
                self._site.asking.call(lambda client: client.events(memory.id)),
            )
            operations = act(memory, action, known, self._site.now_ns(), self._redactor.redact(text).text, events)
            await self._site.asking.call(lambda client: client.apply(operations))
        except (ActionError, VersionConflictError, RequestRefusedError) as error:
            return await self._shown(memory, "", str(error), text or memory.text, status=409)
        back = str(form.get("back", ""))
        if back.startswith("/memories"):
            target = f"{back}{'&' if '?' in back else '?'}done={action}&id={memory.id}"
        else:
            target = f"/memories/{memory.id}?done={action}"
        return web.Response(status=303, headers={"Location": target})

    def _check_form(self, request: web.Request, given: str) -> None:
        if not is_own_form(request, given, self._site.keys):
            raise web.HTTPForbidden(text="This form was not sent from the page itself. Go back, reload, and try again.")

    async def _found(self, memory_id: str) -> Memory:
        memory = await self._site.asking.call(lambda client: client.memory(memory_id))
        if memory is None:
            raise web.HTTPNotFound(text=f"There is no memory {memory_id}.")
        return memory

    async def _shown(self, memory: Memory, done: str, trouble: str, text: str, status: int = 200) -> web.Response:
        events, known, proofs, uses, chances, effects = await asyncio.gather(
            self._site.asking.call(lambda client: client.events(memory.id)),
            self._site.asking.call(lambda client: client.memories()),
            self._site.asking.read(lambda reader: memory_reading.open_evidence(reader, memory.evidence)),
            self._site.asking.read(lambda reader: memory_reading.uses_of(reader, memory.id)),
            self._site.asking.read(lambda reader: read_opportunities(reader, memory.id)),
            self._site.effects(),
        )
        held = done == "remember" and memory.status is Status.QUARANTINED
        return await self._site.page(
            "memory.html",
            "memories",
            status=status,
            memory=memory,
            category=category_of(memory),
            twin=twin_of(memory, known),
            events=events,
            proofs=proofs,
            uses=uses,
            effect=effects.get(memory.id),
            opportunities=chances,
            actions=offered(memory),
            undoable=undoable(events),
            done="Kept, but no agent is shown it until you confirm it." if held else DONE.get(done, ""),
            trouble=trouble,
            text=text,
        )


def _twins(memories: Sequence[Memory]) -> dict[str, Memory]:
    """Memory id → the one that says the same, as a judge sees it, where the two can be merged."""
    found = {memory.id: twin_of(memory, memories) for memory in memories if memory.duplicate_of}
    return {memory_id: twin for memory_id, twin in found.items() if twin is not None}


def _in_order(worked_in: Sequence[str], memories: Sequence[Memory]) -> list[str]:
    """The scopes that words can be remembered for: where agents worked last comes first. The user's own is not one."""
    return list(dict.fromkeys([*worked_in, *sorted(memory.scope for memory in memories if memory.scope != "user")]))
