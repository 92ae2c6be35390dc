"""The demonstration's story, played on a stage: what is run in which order, and what has to have happened in between.

an open session asks about the project          (nothing is known yet, so it never gets a session block)
run 1: the tests fail twice, then work; its user corrects it
mining
run 2: the same task in a fresh session         (starts with the memory)
the open session gets the task as well          (fails once; the hint stands beside the failure)
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from spanlore_proxy.demo.drivers import Driver
from spanlore_proxy.demo.model_server import ModelServer
from spanlore_proxy.demo.scenario import CORRECTION, QUESTION, TASK
from spanlore_proxy.demo.stage import Stage, StageError
from spanlore_proxy.demo.store_view import StoreView, wait_until

SNAPSHOT_WAIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Session:
    """One session of the story; `task_turn` is the turn in which the tests were asked for."""

    name: str
    task_turn: int
    id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True, slots=True)
class Cast:
    """The sessions of the story."""

    earlier: Session = field(default_factory=lambda: Session("earlier session", 0))
    first: Session = field(default_factory=lambda: Session("run 1, no memory", 0))
    second: Session = field(default_factory=lambda: Session("run 2, memory", 0))
    open: Session = field(default_factory=lambda: Session("open session, hint", 1))

    def __iter__(self) -> Iterator[Session]:
        return iter((self.earlier, self.first, self.second, self.open))


class Story:
    """One performance."""

    def __init__(self, stage: Stage, server: ModelServer, driver: Driver, tell: Callable[[str], None]) -> None:
        """`tell` is given each line for whoever watches."""
        self._stage = stage
        self._server = server
        self._driver = driver
        self._tell = tell
        self._started: set[str] = set()
        self.cast = Cast()
        self.mined = ""
        """What `spanlore mine` printed."""

    def play(self) -> StoreView:
        """From the first act to the last.

        Raises:
            StageError: a command failed, or what must happen in between did not.
        """
        self._act("Starting the daemon", self._stage.up)
        store = StoreView(self._stage.paths)
        cast = self.cast
        self._prompt("Another session is opened and left open", cast.open, QUESTION)
        self._prompt("An earlier session finds out how the tests run", cast.earlier, TASK)
        self._prompt("Run 1: it has to be found out again", cast.first, TASK)
        self._prompt("Run 1 goes on: its user corrects it", cast.first, CORRECTION)
        self._captured(store)
        self._act("Mining", self._mine)
        self._snapshot(store)
        self._prompt("Run 2: the same task, a fresh session", cast.second, TASK)
        self._prompt("The open session gets the task, too", cast.open, TASK)
        self._captured(store)
        return store

    def _act(self, title: str, work: Callable[[], None]) -> None:
        self._tell(f"\n▸ {title}")
        work()

    def _prompt(self, title: str, session: Session, prompt: str) -> None:
        self._tell(f"\n▸ {title}")
        command = self._driver.command(session.id, prompt, is_first=session.id not in self._started)
        self._started.add(session.id)
        self._tell(f"  user   {prompt}")
        done = self._stage.spanlore("run", "--", *command, changes=self._driver.environment)
        self._tell(done.stdout.rstrip())

    def _mine(self) -> None:
        self.mined = self._stage.spanlore("mine").stdout
        self._tell(self.mined.rstrip())

    def _captured(self, store: StoreView) -> None:
        expected = len(self._server.main_loop())
        if not store.wait_for_inferences(expected):
            raise StageError(f"the model server saw {expected} requests, but not all of them reached the store")

    def _snapshot(self, store: StoreView) -> None:
        """Waits until the proxy has heard of what is shown now."""
        shown = {memory.id for memory in store.memories() if memory.is_shown}
        if not shown:
            raise StageError("mining learned nothing that an agent may be shown")

        def has_arrived() -> bool:
            try:
                text = self._stage.paths.snapshot_file.read_text()
                return bool(json.loads(text)) and all(identity in text for identity in shown)
            except (OSError, ValueError):
                return False

        if not wait_until(has_arrived, SNAPSHOT_WAIT_S):
            raise StageError("the proxy did not take over what was learned")
