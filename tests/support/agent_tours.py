"""Longer sessions of real agents: several runs of one program in one project and HOME, resumed, forked, compacted, with
sub-agents, against a model that answers by what was said to it last."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spanlore_proxy.demo.model_request import ReceivedRequest
from spanlore_proxy.demo.store_view import wait_until
from support.agent_camp import SIDE, Camp
from support.agent_requests import flow, is_main
from support.model_server import Answer, Reply, Say
from support.real_agents import RealAgent


@dataclass(frozen=True, slots=True)
class Lines:
    """The scripted model. Of the words that it knows, those that were said last tell what it answers, and how many
    results of tools came since, which of the answers it is."""

    by_words: Mapping[str, Sequence[Reply]]
    summary: str = ""
    """The answer to a summariser, which is known by `asks_for_summary`."""
    asks_for_summary: str = ""
    """Stands in a request for a summary."""

    def __call__(self, request: ReceivedRequest) -> Answer | None:
        if self.asks_for_summary and self.asks_for_summary in request.decoded.decode():
            return Reply((Say(self.summary),))
        said = flow(request)
        heard = [
            (at, words)
            for at, (who, text) in enumerate(said)
            if who == "user"
            for words in self.by_words
            if words in text
        ]
        if not heard:
            return Reply((Say(SIDE),))
        at, words = heard[-1]
        results = sum(who == "result" for who, _ in said[at:])
        replies = self.by_words[words]
        return replies[min(results, len(replies) - 1)]


@dataclass(slots=True)
class Tour:
    """An agent's runs in one project, over."""

    agent: RealAgent
    project: Path
    home: Path
    ended: list[subprocess.CompletedProcess[str]] = field(default_factory=list)
    requests: list[ReceivedRequest] = field(default_factory=list)

    @property
    def inferences(self) -> list[ReceivedRequest]:
        """Requests to a model that were answered, as they arrived upstream."""
        return [request for request in self.requests if request.method == "POST" and _has_history(request)]

    @property
    def main(self) -> list[ReceivedRequest]:
        """Those that offer tools."""
        return [request for request in self.inferences if is_main(request)]


def tour(camp: Camp, agent: RealAgent, name: str, runs: Sequence[Sequence[str]], lines: Lines) -> Tour:
    """Plays the runs, each with these arguments, one after the other; waits until all of it is stored."""
    return camp.world.run(lambda: _tour(camp, agent, name, runs, lines))


def _tour(camp: Camp, agent: RealAgent, name: str, runs: Sequence[Sequence[str]], lines: Lines) -> Tour:
    camp.agent, camp.script = agent, lines
    try:
        project, home = camp.place(agent, name)
        seen, out = len(camp.server.requests), Tour(agent, project, home)
        for arguments in runs:
            one = replace(agent, arguments=tuple(arguments))
            out.ended.append(camp.run(agent, one.command(""), (project, home)))
        out.requests = camp.server.requests[seen:]
    finally:
        camp.script = None
    _wait_for_rows(camp, project, _INFERENCES, len(out.inferences))
    _wait_for_rows(camp, project, _TURNS, len(runs))
    return out


def _wait_for_rows(camp: Camp, project: Path, sql: str, count: int) -> None:
    wait_until(lambda: int(camp.store.rows(sql, cwd=str(project))[0]["n"]) >= count, 60)


def rows(camp: Camp, one: Tour, table: str, columns: str) -> list[dict[str, Any]]:
    """Rows of a typed table of the tour, in order of time."""
    where = "cwd = {cwd:String}" if table == "inferences" else f"session_id IN ({_SESSIONS})"
    sql = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY start_time, ingested_at DESC LIMIT 1 BY span_id"
    return camp.world.run(lambda: camp.store.rows(sql, cwd=str(one.project)))


_INFERENCES = "SELECT uniqExact(span_id) AS n FROM inferences WHERE cwd = {cwd:String}"
_TURNS = (
    "SELECT uniqExact(span_id) AS n FROM turns WHERE call_class = 'main' AND session_id IN "
    "(SELECT session_id FROM inferences WHERE cwd = {cwd:String})"
)
"""A run is a turn; its row comes a moment after its last inference's."""
_SESSIONS = "SELECT session_id FROM inferences WHERE cwd = {cwd:String}"


def _has_history(request: ReceivedRequest) -> bool:
    document = request.document or {}
    return any(isinstance(document.get(key), list) for key in ("messages", "input", "contents"))
