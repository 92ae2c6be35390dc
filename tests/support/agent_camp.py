"""A daemon, a scripted model server and real agents, all of them where nothing but loopback can be reached."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.model_server import Answer, ModelServer, Script
from spanlore_proxy.demo.project import make_project
from spanlore_proxy.demo.replies import Reply, Say
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.store_view import StoreView, wait_until
from spanlore_proxy.launch.environment import REPLACING
from support.agent_requests import is_main, results
from support.loopback_only import Lookup, LoopbackOnly
from support.proxied import counted
from support.real_agents import AGENTS, RealAgent

HOSTS = (
    "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com", "chatgpt.com", "api.groq.com",
    "api.moonshot.ai", "api.x.ai",
)  # fmt: skip
"""Where the agents go by themselves; here all of it is the scripted server."""
REMEMBERED = "In this repository the walrus is called Egbert."
PROMPT = "Try both commands and tell me when you are done."
PATIENCE_S = 900
"""A session takes 2 to 20 s; on two cores with a load of 30 some take over four minutes. It only ends what hangs."""
SIDE = '{"title": "x", "reasoning": "x", "model_choice": "pro", "complexity_score": 90}'
"""The answer to calls without tools: titles, routers."""


@dataclass
class Session:
    """One agent's session, over."""

    agent: RealAgent
    ended: subprocess.CompletedProcess[str]
    project: Path
    home: Path
    requests: list[ReceivedRequest]
    lookups: list[Lookup]
    """Names that anybody looked up meanwhile, the proxy too."""
    duration_s: float
    counters: dict[str, int] = field(default_factory=dict)
    """What the proxy counted meanwhile."""

    @property
    def bypassed(self) -> list[Lookup]:
        """Lookups by others than the proxy: whoever goes through it has no need of any."""
        own = self.agent.own_names
        return [lookup for lookup in self.lookups if "spanlore_proxy" not in lookup.asker and lookup.name not in own]

    @property
    def inferences(self) -> list[ReceivedRequest]:
        """Requests to a model, as they arrived upstream."""
        return [request for request in self.requests if request.method == "POST" and _history(request)]

    @property
    def main(self) -> list[ReceivedRequest]:
        """Those of the agent's main loop; all of them for an agent without tools."""
        return [request for request in self.inferences if self.agent.tool is None or is_main(request)]


@dataclass
class Camp:
    """The running daemon and what belongs to it."""

    stage: Stage
    server: ModelServer
    world: LoopbackOnly
    store: StoreView
    played: dict[str, Session | Exception] = field(default_factory=dict)
    agent: RealAgent = AGENTS[0]
    """Who plays now."""
    script: Script | None = None
    """What the model answers in place of the agent's own short session."""

    def answer(self, request: ReceivedRequest) -> Answer | None:
        """The model server's script."""
        if self.script is not None:
            return self.script(request)
        if self.agent.tool is not None and not is_main(request):
            return Reply((Say(SIDE),))
        return self.agent.answer(results(request))

    def session(self, agent: RealAgent, *, is_least: bool = False) -> Session:
        """The agent's session, played when it is first asked for; `is_least` leaves it nothing of what `spanlore run`
        sets but the proxy and the one variable by which it learns to trust it."""
        if agent.name not in self.played:
            try:
                self.played[agent.name] = self.world.run(lambda: self._play(agent, is_least=is_least))
            except (subprocess.SubprocessError, OSError) as error:
                self.played[agent.name] = error
        played = self.played[agent.name]
        if isinstance(played, Exception):
            raise played  # once is enough
        return played

    def rows(self, session: Session, table: str, columns: str) -> list[dict[str, Any]]:
        """Rows of a typed table of one session, in order of time."""
        where = "WHERE cwd = {cwd:String}" if table == "inferences" else f"WHERE session_id IN ({_SESSIONS})"
        sql = f"SELECT {columns} FROM {table} {where} ORDER BY start_time, ingested_at DESC LIMIT 1 BY span_id"
        return self.world.run(lambda: self.store.rows(sql, cwd=str(session.project)))

    def _play(self, agent: RealAgent, *, is_least: bool) -> Session:
        self.agent = agent
        place = self.place(agent, agent.name)
        project, home = place
        seen, asked, before = len(self.server.requests), len(self.world.lookups), self._counters()
        started_s = time.monotonic()
        less = ["env", *(f"--unset={name}" for name in TRUST if name != agent.trusts)] if is_least else []
        ended = self.run(agent, [*less, *agent.command(PROMPT)], place)
        session = Session(
            agent,
            ended,
            project,
            home,
            self.server.requests[seen:],
            self.world.lookups[asked:],
            time.monotonic() - started_s,
        )
        self._wait_for(session)
        session.counters = {name: count - before[name] for name, count in self._counters().items()}
        return session

    def place(self, agent: RealAgent, name: str) -> tuple[Path, Path]:
        """(a project, the HOME of an agent that was never started)."""
        project, home = self.stage.base / name / "tally", self.stage.base / name / "home"
        make_project(project, self.stage.environment)
        home.mkdir()
        agent.furnish(home)
        return project, home

    def run(
        self, agent: RealAgent, command: Sequence[str], place: tuple[Path, Path]
    ) -> subprocess.CompletedProcess[str]:
        """The agent's command through `spanlore run`. To be called within `world`."""
        project, home = place
        return subprocess.run(
            self.stage.command("run", "--require", "--", *command),
            cwd=project,
            env={**self.stage.environment, **agent.environment, "HOME": str(home), "PWD": str(project)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def _wait_for(self, session: Session) -> None:
        sql = "SELECT uniqExact(span_id) AS n FROM inferences WHERE cwd = {cwd:String}"
        cwd = str(session.project)
        wait_until(lambda: int(self.store.rows(sql, cwd=cwd)[0]["n"]) >= len(session.inferences), 120)

    def _counters(self) -> dict[str, int]:
        counted(self.stage.paths, "requests")  # waits until the file is new
        counters = json.loads(self.stage.paths.proxy_status_file.read_bytes())["counters"]
        return {name: sum(counters.get(name, {}).values()) for name in ("tunnelled", "lost", "passthrough", "injected")}


TRUST = ("NODE_EXTRA_CA_CERTS", *REPLACING)
"""The variables by which agents learn to trust the proxy."""
_SESSIONS = "SELECT session_id FROM inferences WHERE cwd = {cwd:String}"


def _history(request: ReceivedRequest) -> bool:
    return any(isinstance((request.document or {}).get(key), list) for key in ("messages", "input", "contents"))


@contextmanager
def camp() -> Iterator[Camp]:
    """Starts the daemon with one memory for the repository, and ends it again."""
    with LoopbackOnly() as world:
        opened = ExitStack()
        try:
            running = world.run(lambda: _start(world, opened))
            opened.callback(_end_what_agents_left, str(running.stage.base))
            yield running
        finally:
            world.run(opened.close)


def _end_what_agents_left(base: str) -> None:
    """Daemons of the agents' own, which outlive them: Cline's hub."""
    for process in psutil.process_iter(["cmdline"]):
        if any(base in word for word in process.info["cmdline"] or ()):
            with suppress(psutil.Error):
                process.kill()


def _start(world: LoopbackOnly, opened: ExitStack) -> Camp:
    scripts: list[Script] = []
    server = opened.enter_context(ModelServer(lambda request: scripts[0](request)))
    upstreams = ",".join(f"{host}={server.url}" for host in HOSTS)
    stage = opened.enter_context(Stage(server.url, settings={"SPANLORE_UPSTREAMS": upstreams}))
    stage.up()
    stage.spanlore("remember", REMEMBERED)
    wait_until(lambda: stage.paths.snapshot_file.exists() and REMEMBERED in stage.paths.snapshot_file.read_text(), 120)
    camp = Camp(stage, server, world, StoreView(stage.paths))
    scripts.append(camp.answer)
    return camp
