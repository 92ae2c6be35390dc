"""Recall over HTTP, from the memories as they are now."""

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest

from spanlore.memory.memory import Memory, Status, memory_to_json
from support.collector_process import CollectorProcess
from support.injecting import make_memory

SCOPE = "github.com/acme/recall"


def recall(collector: CollectorProcess, **asked: Any) -> Any:
    """The answer's document."""
    answer = collector.request("GET", f"/v1/recall?{urlencode(asked)}")
    assert answer.status == 200
    return json.loads(answer.body)


def put(collector: CollectorProcess, verb: str, memory: Memory) -> None:
    """One operation."""
    body = json.dumps({"operations": [{"verb": verb, "memory": memory_to_json(memory)}]}).encode()
    assert collector.request("POST", "/v1/memories/operations", body).status == 200


def test_a_memory_is_found_when_it_is_there_and_gone_when_it_is_forgotten(collector: CollectorProcess) -> None:
    """The index follows the table."""
    memory = make_memory("alembic", scope=SCOPE)
    assert recall(collector, q="alembic upgrade", scope=SCOPE)["candidates"] == []
    put(collector, "added", memory)
    [found] = recall(collector, q="alembic upgrade", scope=SCOPE)["candidates"]
    put(collector, "forgotten", replace(memory, status=Status.FORGOTTEN, version=2))

    assert (found["id"], found["cut"]) == (memory.id, "")
    assert recall(collector, q="alembic upgrade", scope=SCOPE)["candidates"] == []


@pytest.mark.parametrize("asked", [{}, {"q": " "}, {"q": "x", "limit": "0"}, {"q": "x", "limit": "many"}])
def test_what_is_no_question_is_refused(collector: CollectorProcess, asked: dict[str, str]) -> None:
    """400 with what to say instead."""
    answer = collector.request("GET", f"/v1/recall?{urlencode(asked)}")

    assert answer.status == 400
    assert json.loads(answer.body)["message"]
