"""The table of agents in proxy/DESIGN.md: what the matrix saw of each, written by it.

make agents-table      plays every agent once, with the least environment it needs, and writes the table anew
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from spanlore_proxy.demo.model_request import ReceivedRequest
from support.agent_camp import REMEMBERED, Camp, Session, camp
from support.agent_requests import RESULTS
from support.real_agents import AGENTS, RealAgent

ROOT = Path(__file__).parents[2]
DESIGN = ROOT / "proxy" / "DESIGN.md"
BEGIN, END = "<!-- agents: begin -->\n", "<!-- agents: end -->\n"
HEAD = ("agent", "version", "`HTTPS_PROXY` and", "session key", "system shape", "failure signal", "block at")
SYSTEM_ROLES = ("system", "developer")


def row(running: Camp, session: Session) -> tuple[str, ...]:
    """What was seen of one agent, in the order of `HEAD`."""
    agent = session.agent
    first = session.main[0]
    (known,) = running.rows(session, "inferences", "session_id")[-1:]
    return (
        f"{agent.name} ({_transport(agent, first)})",
        pinned(agent),
        f"`{agent.trusts}`",
        session_key(first, known["session_id"]),
        system_shape(first.document or {}),
        failure_signal(session.main),
        f"`{_place(first.document, REMEMBERED)}`",
    )


def pinned(agent: RealAgent) -> str:
    """The version that tools/agents pins."""
    folder = ROOT / "tools" / "agents" / agent.package
    requirements = folder / "requirements.in"
    if requirements.exists():
        return requirements.read_text().strip().partition("==")[2]
    (version,) = json.loads((folder / "package.json").read_text())["dependencies"].values()
    return str(version)


def session_key(request: ReceivedRequest, session_id: str) -> str:
    """Where the request names the session; the run, where it does not."""
    names = [name for name, value in request.headers if value == session_id]
    if names:  # an agent may use the same id for more than the session
        return f"header `{min(names, key=lambda name: ('session' not in name, len(name)))}`"
    return next((f"`{path}`" for path, text in _texts(request.document) if text == session_id), "none: the run")


def system_shape(document: dict[str, Any]) -> str:
    """How the client writes its system prompt, without what we put into it."""
    match document:
        case {"systemInstruction": {"parts": parts}}:
            return f"`systemInstruction`, {_count(parts, 'part')}"
        case {"system": str()}:
            return "`system`, text"
        case {"system": list(blocks)}:
            return f"`system`, {_count(blocks, 'block')}"
    messages = document.get("messages") or document.get("input") or []
    said = [message for message in messages if message.get("role") in SYSTEM_ROLES and not _is_ours(message)]
    inner = [message.get("content") for message in said if "content" in message]
    kind = "text" if inner and isinstance(inner[0], str) else "list"
    if not said and document.get("instructions"):
        return "`instructions`"
    return f"{len(said)} × role {said[0]['role']}, {kind}" if said else "none"


def failure_signal(requests: Sequence[ReceivedRequest]) -> str:
    """What tells that the first command failed: a flag, or a line with the exit code."""
    result = next((one for request in requests for one in _results(request.document)), None)
    if result is None:
        return "no tools"
    if result.get("is_error"):
        return "`is_error`"
    told = "\n".join(text for _, text in _texts(result))
    line = re.search(r"(?:\w+ )*\W?\w*(?:code|returncode|exited)\w*\W{0,4}(?:\w+ ){0,2}3\b", told, re.I)
    return f"`{line[0].strip()}`" if line else "none"


def table(rows: Iterable[Sequence[str]]) -> str:
    """As Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def written(text: str) -> dict[str, tuple[str, ...]]:
    """The rows of the table in that document, by agent."""
    inside = text.partition(BEGIN)[2].partition(END)[0]
    rows = [tuple(cell.strip() for cell in line.strip("| \n").split(" | ")) for line in inside.splitlines()[2:]]
    return {cells[0].partition(" ")[0]: cells for cells in rows}


def _transport(agent: RealAgent, request: ReceivedRequest) -> str:
    dialect = agent.dialect.value.replace("_", " ")
    return f"{dialect}, WebSocket" if request.frame else dialect


def _count(items: Sequence[Any], name: str) -> str:
    own = sum(not _is_ours(item) for item in items)
    return f"{own} {name}{'s' if own != 1 else ''}"


def _is_ours(item: Any) -> bool:
    texts = [text for _, text in _texts(item)]
    return bool(texts) and any(REMEMBERED in text and text.lstrip().startswith("<spanlore-") for text in texts)


def _place(document: Any, text: str) -> str:
    return next((path for path, found in _texts(document) if text in found), "nowhere")


def _texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each text with its path; of a text that is JSON itself, its members too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, f"{path}[{index}]")
    elif isinstance(value, str):
        yield path, value
        if value.startswith("{"):
            try:
                yield from _texts(json.loads(value), path)
            except ValueError:
                return


def _results(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for item in value:
            yield from _results(item)
    elif isinstance(value, dict):
        if value.get("type") in RESULTS or value.get("role") == "tool" or "functionResponse" in value:
            yield value
        else:
            for inner in value.values():
                yield from _results(inner)


def say(text: str) -> None:
    """One line for whoever runs this."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Plays and writes; says what was left out, and why."""
    rows = written(DESIGN.read_text())
    with camp() as running:
        for agent in AGENTS:
            if why := agent.missing():
                say(f"{agent.name}: {why}")
                continue
            session = running.session(agent, is_least=True)
            if session.ended.returncode != 0:
                say(f"{agent.name} does not run with {agent.trusts} alone:\n{session.ended.stderr[-2000:]}")
                return 1
            rows[agent.name] = row(running, session)
            say(" | ".join(rows[agent.name]))
    text = DESIGN.read_text()
    inside = text.partition(BEGIN)[2].partition(END)[0]
    DESIGN.write_text(text.replace(inside, table(rows[agent.name] for agent in AGENTS if agent.name in rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
