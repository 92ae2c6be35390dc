"""Whose work a request is: the run's own statement, else the peer process, else what the request says of itself.

What another user of this machine says of a directory is not believed: anybody can connect to a port on loopback, and
could otherwise have memories of the user's repositories put into requests of their own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final

from spanlore.repository.checkout import Checkout, locate
from spanlore.spans.place import Workplace
from spanlore_proxy.capture.peers import Address, StrangerError, working_directory
from spanlore_proxy.capture.runs import Credentials, RunRegistry

LOOKUP_S: Final = 0.04
"""Longest that a request waits for the look-up of its process; inside the injection deadline."""
CHECKOUT_AGE_S: Final = 2.0
"""How long what `.git` said is believed; the branch may change during a run."""
MAX_CACHED: Final = 256

type Locate = Callable[[Path], Checkout]
type LookUp = Callable[[Address, Address], Path | None]
"""May raise `StrangerError`."""


class Checkouts:
    """What `.git` says of working directories, remembered for a moment. Safe from any thread."""

    def __init__(self, locate: Locate = locate, clock: Callable[[], float] = time.monotonic) -> None:
        self._locate = locate
        self._clock = clock
        self._cache: dict[Path, tuple[float, Checkout]] = {}

    def at(self, cwd: Path) -> Checkout:
        """The checkout that holds `cwd`."""
        now = self._clock()
        cached = self._cache.get(cwd)
        if cached is not None and now - cached[0] < CHECKOUT_AGE_S:
            return cached[1]
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        found = self._locate(cwd)
        self._cache[cwd] = (now, found)
        return found


class Workplaces:
    """Finds the workplace of each connection once. `close` at the end."""

    def __init__(
        self,
        runs: RunRegistry,
        checkouts: Checkouts,
        look_up: LookUp = working_directory,
        *,
        lookup_s: float = LOOKUP_S,
    ) -> None:
        """Must be made inside the event loop."""
        self._runs = runs
        self._checkouts = checkouts
        self._look_up = look_up
        self._lookup_s = lookup_s
        # One thread: lookups read all of /proc, and more of them at once would only fight for the interpreter.
        self._thread = ThreadPoolExecutor(1, "peers")
        self._known: dict[str, Workplace] = {}
        self._searches: dict[str, asyncio.Future[Workplace]] = {}
        self._hints: dict[str, Workplace] = {}
        self._strangers: set[str] = set()

    def introduce(self, connection: str, credentials: Credentials | None, client: Address, proxy: Address) -> None:
        """A client connection that will carry LLM requests; what it said of itself may be nothing."""
        if connection in self._known or connection in self._searches:
            return
        workplace = self._runs.workplace(credentials)
        if workplace is not None:
            self._known[connection] = workplace
            return
        loop = asyncio.get_running_loop()
        self._searches[connection] = loop.run_in_executor(self._thread, self._search, client, proxy)

    def forget(self, connection: str) -> None:
        """The connection is closed."""
        self._strangers.discard(connection)
        self._known.pop(connection, None)
        search = self._searches.pop(connection, None)
        if search is not None:
            search.cancel()

    async def of(self, connection: str, cwd_hint: str) -> Workplace:
        """The workplace as far as it is known in time. `cwd_hint` is what the request's own text says."""
        workplace = self._known.get(connection)
        search = self._searches.get(connection)
        if workplace is None and search is not None:
            try:
                workplace = await self._in_time(search)
            except StrangerError:
                self._strangers.add(connection)
                workplace = Workplace()
            if workplace is not None:
                self._known[connection] = workplace
                self._searches.pop(connection, None)
        if workplace is not None and (workplace.run_id or workplace.repository or connection in self._strangers):
            return workplace
        return await self._hinted(cwd_hint) or workplace or Workplace()

    def refreshed(self, workplace: Workplace) -> Workplace:
        """The same with the branch that is checked out now. Reads the disk: not for the event loop."""
        if not workplace.cwd:
            return workplace
        now = self._checkouts.at(Path(workplace.cwd))
        return replace(workplace, branch=now.branch) if now.branch and now.scope == workplace.repository else workplace

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _hinted(self, cwd_hint: str) -> Workplace | None:
        if not cwd_hint.startswith("/"):
            return None
        workplace = self._hints.get(cwd_hint)
        if workplace is None:
            loop = asyncio.get_running_loop()
            workplace = await self._in_time(loop.run_in_executor(self._thread, self._at, Path(cwd_hint)))
            if workplace is not None:
                if len(self._hints) >= MAX_CACHED:
                    self._hints.clear()
                self._hints[cwd_hint] = workplace
        return workplace

    async def _in_time(self, search: asyncio.Future[Workplace]) -> Workplace | None:
        """What the search found; None when it takes too long. It goes on then: the next request will know."""
        try:
            return await asyncio.wait_for(asyncio.shield(search), self._lookup_s)
        except TimeoutError:
            return None

    def _search(self, client: Address, proxy: Address) -> Workplace:
        cwd = self._look_up(client, proxy)
        return Workplace() if cwd is None else self._at(cwd)

    def _at(self, cwd: Path) -> Workplace:
        found = self._checkouts.at(cwd)
        return Workplace(repository=found.scope, sub_path=found.sub_path, branch=found.branch, cwd=str(cwd))
