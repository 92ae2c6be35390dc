"""The demonstration's story, played once with a given agent, and what tests want to know of it afterwards."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spanlore_proxy.demo.drivers import Driver
from spanlore_proxy.demo.findings import Findings, gather
from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.model_server import ModelServer
from spanlore_proxy.demo.replies import Reply
from spanlore_proxy.demo.scenario import TASK, answer
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView
from spanlore_proxy.demo.story import Session, Story


@dataclass
class Meddler:
    """The scripted model, with something happening just before it answers a request."""

    before: Callable[[ReceivedRequest], None] | None = None

    def __call__(self, request: ReceivedRequest) -> Reply:
        if self.before is not None:
            self.before(request)
        return answer(request)


@dataclass
class Played:
    """A story that came to its end; the daemon still runs."""

    stage: Stage
    server: ModelServer
    meddler: Meddler
    story: Story
    store: StoreView
    driver: Driver
    findings: Findings

    def say(self, session: Session, prompt: str) -> str:
        """One more prompt in a session that was opened before; the agent's output."""
        command = self.driver.command(session.id, prompt, is_first=False)
        return self.stage.spanlore("run", "--", *command, changes=self.driver.environment).stdout

    def json(self, *arguments: str) -> Any:
        """What a spanlore command prints as JSON."""
        return json.loads(self.stage.spanlore(*arguments, "--json").stdout)

    def spans(self, session: Session, columns: str, table: str) -> list[dict[str, Any]]:
        """Rows of a typed table of one session, in order of time."""
        where = "WHERE session_id = {session:String} ORDER BY start_time LIMIT 1 BY span_id"
        return self.store.rows(f"SELECT {columns} FROM {table} {where}", session=session.id)

    def kill_proxy(self) -> int:
        """kill -9 of the proxy's process; its pid."""
        daemon = json.loads(self.stage.paths.daemon_file.read_bytes())
        (pid,) = (child["pid"] for child in daemon["processes"] if child["name"] == "proxy")
        os.kill(pid, signal.SIGKILL)
        return int(pid)


@contextmanager
def play(driver: Driver) -> Iterator[Played]:
    """Plays the story from its first act to its last."""
    meddler = Meddler()
    with ModelServer(meddler) as server, Stage(server.url) as stage:
        story = Story(stage, server, driver, lambda line: None)
        store = story.play()
        findings = gather(story.cast, store, server, stage.paths)
        yield Played(stage, server, meddler, story, store, driver, findings)


__all__ = ["TASK", "Meddler", "Played", "play"]
