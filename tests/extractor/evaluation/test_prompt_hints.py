"""Hints behind prompts, and what their reader thought of them."""

import json
from pathlib import Path

import pytest

from spanlore.recall.snapshot import Snapshot
from spanlore_extractor.evaluation import prompt_hints
from spanlore_extractor.evaluation.prompt_hints import PromptHint, row, told
from support.injecting import SCOPE, make_memory
from support.told import Told

ALEMBIC = make_memory("alembic", text="`alembic upgrade head` fails here; `make migrate` works.", value="make migrate")
TESTS = make_memory("pytest", text="`pytest` fails here; `uv run pytest` works.")
PROMPT = "Apply the alembic migrations to the database of the shop."


def hints(*prompts: str) -> list[PromptHint]:
    session = Told("s1", repository=SCOPE)
    for prompt in prompts:
        session.human(prompt).agent("done")
    return list(prompt_hints.prompt_hints(session.session(), Snapshot.of([ALEMBIC, TESTS])))


def test_what_would_stand_behind_prompts() -> None:
    """Each memory once in a conversation, by its subject or by the family; short prompts get no task hint."""
    found = hints("alembic!", PROMPT, PROMPT + " Now.", "run the tests")

    assert [(hint.kind, hint.memory.subject) for hint in found if hint.is_shown] == [
        ("task", "alembic"),
        ("family", "pytest"),
    ]


def test_the_readers_judgement_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the kind, the prompt and the memory's text; what nobody read is told as unread."""
    task, family = hints(PROMPT, "run the tests")
    cut = PromptHint("task", "other", TESTS, False)
    read = {task.key: {"fits": False}, cut.key: {"fits": True}}
    monkeypatch.setattr(prompt_hints, "_judgements", lambda: read)
    counts = row("x", [task, family, cut], 2)

    assert (counts["hints"], counts["right"], counts["wrong"], counts["unread"]) == (2, 0, 1, 1)
    assert (counts["wrong_share"], counts["right_kept"]) == (1.0, 0.0)
    assert told(task)["verdict"] == "wrong"


def test_every_judgement_is_one() -> None:
    """The file says of each pair what it is, and whether it fits."""
    read = json.loads(Path(prompt_hints.__file__).with_name("prompt_hints.json").read_text())["read"]

    assert all(len(key) == 16 and int(key, 16) >= 0 for key in read)
    assert {(type(one["fits"]), one["kind"] in ("task", "family")) for one in read.values()} == {(bool, True)}
