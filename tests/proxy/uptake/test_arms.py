"""Who is shown what."""

import json

import pytest

from spanlore_proxy.uptake.arms import (
    ARMS,
    BLOCK,
    HINT,
    NONE,
    PLACEBO_BLOCK,
    PLACEBO_HINT,
    Moment,
    body,
    memory_of,
    placebo_of,
    run_id_of,
    said,
    scope_of,
)
from spanlore_proxy.uptake.lessons import make_lessons

LESSONS = make_lessons(10)


def test_every_conversation_has_a_repository_and_a_run_of_its_own() -> None:
    """So that no memory is shown where it should not be."""
    scopes = {scope_of(lesson, arm) for lesson in LESSONS for arm in ARMS}
    runs = {run_id_of(lesson, arm) for lesson in LESSONS for arm in ARMS}

    assert len(scopes) == len(runs) == len(LESSONS) * len(ARMS)


def test_a_placebo_is_of_another_failure() -> None:
    """Another word and another command, in the place where the lesson's own would stand."""
    for lesson in LESSONS:
        other = placebo_of(lesson, LESSONS)
        memory = memory_of(lesson, PLACEBO_HINT, LESSONS)

        assert (other.wrong != lesson.wrong) and (other.word != lesson.word)
        assert memory is not None and other.word in memory.text and lesson.word not in memory.text
        assert memory.trigger == lesson.trigger()


def test_one_lesson_has_no_placebo() -> None:
    """It would be its own."""
    with pytest.raises(ValueError, match="two lessons"):
        placebo_of(LESSONS[0], LESSONS[:1])


def test_memories_of_the_arms() -> None:
    """None has none; block's answers no failure, hint's does."""
    lesson = LESSONS[0]
    block, hint = memory_of(lesson, BLOCK, LESSONS), memory_of(lesson, HINT, LESSONS)

    assert memory_of(lesson, NONE, LESSONS) is None
    assert block is not None and not block.trigger.signatures and lesson.word in block.text
    assert hint is not None and hint.trigger == lesson.trigger()
    turned = memory_of(lesson, BLOCK, LESSONS, is_fix_first=True)
    assert turned is not None and turned.text == lesson.fix_first
    assert (memory := memory_of(lesson, PLACEBO_BLOCK, LESSONS)) is not None and not memory.trigger.signatures


def test_the_second_request_goes_on_from_the_first() -> None:
    """And neither holds the word."""
    first, second = (json.loads(body(LESSONS[0], moment, "m", 9)) for moment in Moment)

    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert LESSONS[0].word not in json.dumps(second)
    assert (second["max_tokens"], second["temperature"]) == (9, 0)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"content": "make x"}, "make x"),
        ({"content": None, "tool_calls": [{"function": {"arguments": "make x"}}]}, "make x"),
        ({"content": ""}, ""),
    ],
)
def test_text_and_tool_calls_are_answers(message: dict[str, object], expected: str) -> None:
    """A model may call the tool it was offered."""
    assert said({"choices": [{"message": message}]}) == expected


@pytest.mark.parametrize("document", [{}, {"choices": []}, {"choices": [{"message": "x"}]}, [], {"error": {}}])
def test_what_is_no_answer_is_told(document: object) -> None:
    """Never an empty answer instead."""
    with pytest.raises(ValueError, match="no Chat Completions answer"):
        said(document)
