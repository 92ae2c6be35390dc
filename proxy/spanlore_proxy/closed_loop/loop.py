"""Sessions in sequence, one of each arm and policy in each round, mining in between; what each arm cost.

Arms: `none` (no spanlore), `hand-written` (a CLAUDE.md with every lesson), `learned` (spanlore as it is), `withheld`
(the same, and nothing is shown), `placebo` (shown: what was learned in another repository). A daemon of its own, real:
proxy, collector, miner; the model is scripted and the commands are made up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from spanlore.memory.memory import Memory, Status, memory_from_json, memory_id, memory_to_json
from spanlore.settings import Paths
from spanlore_proxy.bench.targets import daemon
from spanlore_proxy.closed_loop.client import LoopError, Outcome, Way, play
from spanlore_proxy.closed_loop.lessons import Lesson, Repository, make_repository, schedule
from spanlore_proxy.closed_loop.policies import POLICIES, Model, Policy
from spanlore_proxy.demo.model_server import ModelServer

ARMS: Final = ("none", "hand-written", "learned", "withheld", "placebo")
PLACEBO, SOURCE = "placebo", "source"
"""`source` plays for the placebo: what it teaches is shown in the placebo's repository. It is in no row."""
SETTLE_S: Final = 60.0
SETTINGS: Final = {"SPANLORE_MINING_IDLE_S": "0", "SPANLORE_MINING_INTERVAL_S": "86400"}


@dataclass(slots=True)
class Arm:
    """One arm under one policy."""

    name: str
    policy: Policy
    repository: Repository
    order: list[Lesson]
    way: Way
    outcomes: list[Outcome] = field(default_factory=list)
    exposed_bytes: int = 0
    """What reached the model server beyond what the client sent."""


class Loop:
    """One performance."""

    def __init__(self, folder: Path, sessions: int, tell: Callable[[str], None], policies: Iterable[Policy] = POLICIES,
                 usages: int = 4, corrections: int = 2) -> None:  # fmt: skip
        """`tell` is given a line for each round."""
        self._folder = folder
        self._sessions = sessions
        self._tell = tell
        self._policies = tuple(policies)
        self._lessons = (usages, corrections)
        self._model = Model()

    def run(self) -> list[Arm]:
        """Plays all rounds; the arms with their outcomes, without the source's.

        Raises:
            LoopError: a session could not be played, or what was captured did not reach the store.
        """
        with ModelServer(self._model.answer) as server:
            settings = {**SETTINGS, "SPANLORE_UPSTREAMS": f"api.anthropic.com={server.url}"}
            with daemon(self._folder, settings) as (paths, environment):
                api = _Api(paths)
                arms = [arm for policy in self._policies for arm in self._arms(policy, paths, server.url)]
                for number in range(self._sessions):
                    for arm in arms:
                        self._session(arm, number, server)
                    self._learn(api, arms, environment)
                    self._tell(f"round {number + 1} of {self._sessions}")
        return [arm for arm in arms if arm.name != SOURCE]

    def _arms(self, policy: Policy, paths: Paths, server_url: str) -> list[Arm]:
        seed = 1 + self._policies.index(policy)
        usages, corrections = self._lessons
        out = []
        for name in (*ARMS, SOURCE):
            scope = f"loop.example/{seed}/{name}"
            # The placebo's memories are of another repository: other areas or other commands than its own.
            repository = make_repository(scope, seed + (1000 if name == SOURCE else 0), usages, corrections)
            direct = Way(f"{server_url}/v1/messages")
            if name == "hand-written":
                direct = replace(direct, instructions=repository.instructions)
            way = direct if name in ("none", "hand-written") else _through(paths, scope, name in ("withheld", SOURCE))
            out.append(Arm(name, policy, repository, schedule(repository, self._sessions, seed), way))
        return out

    def _session(self, arm: Arm, number: int, server: ModelServer) -> None:
        session_id, lesson = str(uuid.uuid4()), arm.order[number]
        self._model.expect(session_id, arm.policy, lesson)
        outcome = play(session_id, lesson, arm.way)
        arm.outcomes.append(outcome)
        received = sum(len(request.body) for request in server.main_loop(session_id))
        arm.exposed_bytes += max(received - outcome.sent_bytes, 0)
        server.requests.clear()

    def _learn(self, api: _Api, arms: list[Arm], environment: Mapping[str, str]) -> None:
        api.settle()
        mined = subprocess.run(
            [sys.executable, "-m", "spanlore", "mine"], env=environment, capture_output=True, text=True, check=False
        )
        if mined.returncode:
            raise LoopError(f"mining failed: {mined.stderr[-500:]}")
        for arm in arms:
            if arm.name == PLACEBO:
                source = next(one for one in arms if one.name == SOURCE and one.policy is arm.policy)
                api.shuffle(source.repository.scope, arm.repository.scope)
        api.arrived()


class _Api:
    """The daemon's counters and memories."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._port = json.loads(paths.daemon_file.read_text())["collector_port"]

    def settle(self) -> None:
        """Waits until everything captured is in the store."""
        before: tuple[int, ...] = ()

        def is_done() -> bool:
            nonlocal before
            counters = json.loads(self._paths.proxy_status_file.read_text())["counters"]
            now = tuple(sum(counters.get(name, {}).values()) for name in ("requests", "captured", "shipped"))
            was, before = before, now
            return now == was and now[2] >= now[0]

        _wait(is_done, 1.1, "what was captured did not reach the store")

    def memories(self, scope: str) -> list[Memory]:
        return [
            memory_from_json(item) for item in self._call("GET", "/v1/memories")["memories"] if item["scope"] == scope
        ]

    def shuffle(self, source: str, target: str) -> None:
        """Shows in `target` what was learned in `source`, and nothing of its own."""
        known = {memory.id: memory for memory in self.memories(target)}
        operations = []
        wanted: set[str] = set()
        for memory in self.memories(source):
            if not memory.is_shown:
                continue
            copy_id = memory_id(target, memory.kind, memory.subject, memory.slot, memory.value, "placebo")
            wanted.add(copy_id)
            if copy_id not in known:
                copy = replace(memory, id=copy_id, scope=target, evidence=(), version=1)
                operations.append({"verb": "added", "memory": memory_to_json(copy), "actor": "user"})
        for memory in known.values():
            if memory.id not in wanted and memory.is_shown:
                gone = replace(memory, status=Status.FORGOTTEN, version=memory.version + 1)
                operations.append({"verb": "forgotten", "memory": memory_to_json(gone), "actor": "user"})
        if operations:
            self._call("POST", "/v1/memories/operations", {"operations": operations})

    def arrived(self) -> None:
        """Waits until the proxy shows what is shown now, and nothing else."""
        shown = sorted(item["id"] for item in self._call("GET", "/v1/memories/snapshot")["memories"])

        def has() -> bool:
            try:
                kept = json.loads(self._paths.snapshot_file.read_text())
            except (OSError, ValueError):
                return not shown
            return sorted(item["id"] for item in kept["memories"]) == shown

        _wait(has, 0.2, "the proxy did not take over what was learned")

    def _call(self, method: str, path: str, document: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            data=json.dumps(document).encode() if document is not None else None,
            headers={"authorization": f"Bearer {self._paths.token()}", "content-type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read())


def _through(paths: Paths, scope: str, is_bypassed: bool) -> Way:
    """A run of its own in that repository, by base URL."""
    run_id, token = f"run-{uuid.uuid4().hex[:12]}", uuid.uuid4().hex
    run = {
        "run_id": run_id, "token": token, "created_at_ns": time.time_ns(), "pid": 0, "harness": "claude-code",
        "harness_version": "", "cwd": f"/home/dev/{scope}", "repository": scope, "sub_path": "", "branch": "main",
    }  # fmt: skip
    (paths.runs_dir / f"{run_id}.json").write_text(json.dumps(run))
    port = json.loads(paths.daemon_file.read_text())["proxy_port"]
    return Way(f"http://127.0.0.1:{port}/r/{run_id}:{token}/anthropic/v1/messages", is_bypassed)


def _wait(is_done: Callable[[], bool], every_s: float, trouble: str) -> None:
    until = time.monotonic() + SETTLE_S
    while not is_done():
        if time.monotonic() > until:
            raise LoopError(trouble)
        time.sleep(every_s)
