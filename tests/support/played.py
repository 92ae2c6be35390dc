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
from spanlore_proxy.demo.model_server import Answer, ModelServer, Script
from spanlore_proxy.demo.scenario import TASK, answer
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from spanlore_proxy.demo.story import Session, Story


@dataclass
class Meddler:
    """The scripted model, which a test can have do something before it answers, or replace by another script."""

    before: Callable[[ReceivedRequest], None] | None = None
    script: Script = answer

    def __call__(self, request: ReceivedRequest) -> Answer | None:
        if self.before is not None:
            self.before(request)
        return self.script(request)


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
    killed: int = 0
    """Requests that were under way when a test killed the proxy; these are not captured."""

    def say(self, session: Session, prompt: str, *, is_first: bool = False, **changes: str) -> str:
        """One more prompt in a session; the agent's output. `changes` is more environment."""
        command = self.driver.command(session.id, prompt, is_first=is_first)
        return self.stage.spanlore("run", "--", *command, changes=self.driver.environment | changes).stdout

    def captured(self, session: Session) -> None:
        """Waits until all of the session's requests are stored."""
        expected = len(self.server.main_loop(session.id)) - self.killed
        where = "WHERE session_id = {session:String} AND call_class IN ('main', 'subagent')"
        sql = f"SELECT uniqExact(span_id) AS n FROM inferences {where}"
        assert wait_until(lambda: int(self.store.rows(sql, session=session.id)[0]["n"]) >= expected)

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
def play(driver: Driver, **settings: str) -> Iterator[Played]:
    """Plays the story from its first act to its last; `settings` is more environment for the daemon."""
    meddler = Meddler()
    with ModelServer(meddler) as server, Stage(server.url, settings=settings) as stage:
        story = Story(stage, server, driver, lambda line: None)
        store = story.play()
        findings = gather(story.cast, store, server, stage.paths)
        yield Played(stage, server, meddler, story, store, driver, findings)


__all__ = ["TASK", "Meddler", "Played", "play"]
