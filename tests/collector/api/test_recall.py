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


def test_by_words_by_meaning_too_or_not_at_all(collector: CollectorProcess) -> None:
    """A paraphrase is found by its meaning only, with both ranks; the default looks for words, `none` for nothing."""
    scope = f"{SCOPE}/backends"
    text = "`terraform plan` failed; `aws-vault exec dev -- terraform plan` worked instead."
    memory = make_memory("terraform", scope=scope, text=text, value="aws-vault")
    put(collector, "added", memory)
    asked = {"q": "preview infrastructure changes in the amazon cloud", "scope": scope}
    by_words = recall(collector, **asked)
    hybrid = recall(collector, **asked, backend="hybrid")
    nothing = recall(collector, q="terraform plan", scope=scope, backend="none")

    assert (by_words["backend"], by_words["candidates"]) == ("keyword", [])
    [found] = hybrid["candidates"]
    assert (found["id"], found["keyword_rank"], found["meaning_rank"], found["cut"]) == (memory.id, 0, 1, "unclear")
    assert found["similarity"] > 0.15
    assert (nothing["backend"], nothing["candidates"]) == ("none", [])


def test_only_what_is_asked_for(collector: CollectorProcess) -> None:
    """By kind, path and branch."""
    scope = f"{SCOPE}/filters"
    memory = make_memory("gradle", scope=scope, branch="main", sub_path="server")
    put(collector, "added", memory)
    asked = {"q": "gradle", "scope": scope}

    assert recall(collector, **asked, kind="usage", path="server", branch="main")["candidates"]
    for other in ({"kind": "location"}, {"path": "client"}, {"branch": "dev"}):
        assert recall(collector, **asked, **other)["candidates"] == []


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"q": " "},
        {"q": "x", "limit": "0"},
        {"q": "x", "limit": "many"},
        {"q": "x", "backend": "psychic"},
        {"q": "x", "exit_code": "bad"},
    ],
)
def test_what_is_no_question_is_refused(collector: CollectorProcess, asked: dict[str, str]) -> None:
    """400 with what to say instead."""
    answer = collector.request("GET", f"/v1/recall?{urlencode(asked)}")

    assert answer.status == 400
    assert json.loads(answer.body)["message"]
