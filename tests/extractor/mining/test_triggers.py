import time

import pytest

from spanlore_extractor.mining.triggers import TRIGGERS, has_blame, triggers_in


def test_names_are_told_once() -> None:
    """A kind of objection has one entry."""
    names = [trigger.name for trigger in TRIGGERS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("do not use mocks", "forbids"),
        ("no, the other one", "negates"),
        ("we use pnpm", "our way"),
        ("use pnpm", "just so"),
    ],
)
def test_what_may_only_decline_an_offer(words: str, kind: str) -> None:
    """It objects, except in the first sentence of an answer to the agent's question."""
    assert kind in triggers_in(words, False)
    assert triggers_in(words, True) == ()
    assert kind in triggers_in(f"ok. {words}", True)


def test_real_objections_hold_in_answers() -> None:
    """Whatever was asked."""
    assert has_blame("you deleted the wrong file")
    assert "blames" in triggers_in("you deleted the tests", True)


def test_new_tasks_describe() -> None:
    """What is to be instead is no objection there; what must never be still is."""
    assert triggers_in("create a module instead of a class", False) == ()
    assert triggers_in("create a module and don't touch main.py", False) == ("forbids",)


def test_no_form_takes_long() -> None:
    """Long texts without an end of a sentence cost little: no form backtracks over them."""
    began_s = time.process_time()
    for text in ("the " * 400, "you " * 400, "not " * 400, ", " * 800, "a" * 1500, "is x, " * 300):
        triggers_in(text[:1500], False)
    assert time.process_time() - began_s < 5
