"""The table of agents in proxy/DESIGN.md, as far as it can be checked without them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanlore_proxy.demo.model_request import ReceivedRequest
from support import agents_table
from support.agent_camp import REMEMBERED
from support.agents_table import BEGIN, DESIGN, END, HEAD, failure_signal, pinned, session_key, system_shape, written
from support.real_agents import AGENTS

BLOCK = f"<spanlore-memory>{REMEMBERED}</spanlore-memory>"


def request(document: dict[str, Any], *headers: tuple[str, str]) -> ReceivedRequest:
    return ReceivedRequest("POST", "/v1/x", headers, json.dumps(document).encode(), 1, "req_1")


def test_the_table_is_of_the_agents_that_are_pinned() -> None:
    """Each agent of the matrix with its version, in the matrix's order; `make agents-table` after a new pin."""
    rows = written(DESIGN.read_text())

    assert [(name, cells[1]) for name, cells in rows.items()] == [(agent.name, pinned(agent)) for agent in AGENTS]
    assert all(len(cells) == len(HEAD) and all(cells) for cells in rows.values())


def test_what_is_written_is_read_again() -> None:
    """The table's own form."""
    rows = [("a (chat)", "1", "`X`", "k", "s", "f", "b"), ("c", "2", "x", "x", "x", "x", "x")]

    assert list(written(f"x\n{BEGIN}{agents_table.table(rows)}{END}y").values()) == rows


@pytest.mark.parametrize(
    ("document", "headers", "expected"),
    [
        ({}, (("x-client-request-id", "s"), ("session-id", "s")), "header `session-id`"),
        ({"metadata": {"sessionId": "s"}}, (), "`metadata.sessionId`"),
        ({"metadata": {"user_id": '{"session_id":"s"}'}}, (("x", "t"),), "`metadata.user_id.session_id`"),
        ({"messages": []}, (), "none: the run"),
    ],
)
def test_where_the_session_is_named(
    document: dict[str, Any], headers: tuple[tuple[str, str], ...], expected: str
) -> None:
    """In a header, the one that says so first; in the body; nowhere."""
    assert session_key(request(document, *headers), "s") == expected


TWO_PARTS = [{"text": "a"}, {"text": "b"}, {"text": BLOCK}]
DEVELOPERS = [{"role": "developer", "content": []}, {"role": "developer", "content": [{"text": BLOCK}]}]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"system": [{"text": "a"}, {"text": BLOCK}]}, "`system`, 1 block"),
        ({"system": "a"}, "`system`, text"),
        ({"systemInstruction": {"parts": TWO_PARTS}}, "`systemInstruction`, 2 parts"),
        ({"messages": [{"role": "system", "content": f"a {BLOCK}"}, {"role": "user"}]}, "1 × role system, text"),
        ({"input": DEVELOPERS}, "1 × role developer, list"),
        ({"instructions": "a", "input": DEVELOPERS[1:]}, "`instructions`"),
        ({"input": []}, "none"),
    ],
)
def test_how_the_system_prompt_is_written(document: dict[str, Any], expected: str) -> None:
    """By the client: what we put into it is left out."""
    assert system_shape(document) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"type": "tool_result", "content": "Exit code 3", "is_error": True}, "`is_error`"),
        ({"type": "tool_result", "content": "No such file"}, "none"),
        ({"role": "tool", "content": "x\nCommand exited with code 3"}, "`Command exited with code 3`"),
        ({"role": "tool", "content": '{"returncode": 3, "output": "x"}'}, '`"returncode": 3`'),
        ({"functionResponse": {"response": {"output": "x\nExit Code: 3\nPID: 3"}}}, "`Exit Code: 3`"),
    ],
)
def test_what_tells_of_a_failure(result: dict[str, Any], expected: str) -> None:
    """A flag, else the words around the exit code."""
    assert failure_signal([request({"input": []}), request({"input": [result]})]) == expected
    assert failure_signal([request({"input": []})]) == "no tools"
