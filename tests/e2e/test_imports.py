"""Real agents' own session files, beside what the proxy captured of the very same sessions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from spanlore.spans.place import Workplace
from spanlore.spans.record import SpanRecord
from spanlore.transcripts import opencode
from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from spanlore_proxy.demo.store_view import wait_until
from spanlore_proxy.importers.opencode_db import exports_in
from spanlore_proxy.importers.places import DATABASE, own_files
from spanlore_proxy.importers.replay import session_id_of, spans_of
from support.agent_camp import Camp, Session, camp
from support.real_agents import AGENTS, RealAgent

pytestmark = pytest.mark.agents


NAMED = ("claude-code", "codex", "opencode-anthropic")
"""Agents whose requests and files name the same session. (pi and mini-swe-agent name none to the API, Gemini CLI none
with a key.)"""


@pytest.fixture(scope="module")
def running() -> Iterator[Camp]:
    if all(agent.missing() for agent in AGENTS):
        pytest.skip("no agent is installed: `make test-agents` does it")
    with camp() as running:
        yield running


@pytest.mark.parametrize("name", NAMED)
def test_the_file_gives_the_spans_of_the_wire(running: Camp, name: str) -> None:
    """Same conversation, same turn, same tools; Claude Code's file has the ids of the answers, too."""
    agent = next(one for one in AGENTS if one.name == name)
    if why := agent.missing():
        pytest.skip(why)
    session = running.session(agent)
    wait_until(lambda: bool(running.rows(session, "turns", "span_id")), 120)
    wire = {
        table: {row["span_id"]: row for row in running.rows(session, table, "span_id, trace_id, conversation")}
        for table in ("inferences", "tool_calls", "turns")
    }
    imported = replayed(agent, session)
    turns, tools = of_kind(imported, "invoke_agent"), of_kind(imported, "execute_tool")

    assert turns.keys() == wire["turns"].keys()
    assert tools.keys() == wire["tool_calls"].keys()
    assert {span: one.trace_id.hex() for span, one in tools.items()} == {
        span: row["trace_id"] for span, row in wire["tool_calls"].items()
    }
    if agent.harness == "claude-code":
        assert of_kind(imported, "chat").keys() <= wire["inferences"].keys()


def of_kind(records: list[SpanRecord], kind: str) -> dict[str, SpanRecord]:
    return {one.span_id.hex(): one for one in records if one.name.startswith(kind)}


def replayed(agent: RealAgent, session: Session) -> list[SpanRecord]:
    """The spans of the files that the agent left in its HOME."""
    files = own_files(agent.harness, {"HOME": str(session.home)})
    assert files, [str(path) for path in session.home.rglob("*")][:200]
    out: list[SpanRecord] = []
    for file in files:
        data = b"" if file.name == DATABASE else file.read_bytes()
        try:
            found = [opencode.read(one) for one in exports_in(file)] if not data else [read_transcript(data)]
        except UnknownFormatError:
            continue
        for transcript in found:
            groups = spans_of(
                transcript,
                Workplace(harness=agent.harness),
                lambda text: (text, 0),
                session_id=session_id_of(transcript, data),
                is_over=True,
            )
            out += [record for group in groups for record in group]
    return out
