"""Lessons that nobody can guess."""

import pytest

from spanlore.memory.memory import Kind
from spanlore.memory.shapes import suspicious
from spanlore_proxy.uptake.lessons import Lesson, make_lessons

LESSONS = make_lessons(400)


def test_the_same_for_the_same_arguments() -> None:
    """And a longer list begins with the shorter one, so that a run can be made longer."""
    assert make_lessons(20) == LESSONS[:20]
    assert make_lessons(20, seed=2) != LESSONS[:20]


def test_no_two_share_a_word() -> None:
    """Nor does one word hold another: a word names one lesson."""
    words = sorted(lesson.word for lesson in LESSONS)

    assert len(set(words)) == len(words)
    assert not [(one, other) for one in words for other in words if one != other and one in other]


@pytest.mark.parametrize("lesson", LESSONS[:40], ids=lambda lesson: str(lesson.number))
def test_the_word_stands_in_the_memory_only(lesson: Lesson) -> None:
    """Whoever names it was told."""
    assert lesson.word in lesson.right
    assert f"`{lesson.right}`" in lesson.text
    assert lesson.fix_first.index(lesson.right) < lesson.fix_first.index(lesson.wrong.removeprefix("cat "))
    assert lesson.word not in f"{lesson.task} {lesson.wrong} {lesson.output}"
    assert not suspicious(lesson.text) and not suspicious(lesson.fix_first)


def test_there_are_three_sorts() -> None:
    """Another command, something first, another path."""
    assert {lesson.kind for lesson in LESSONS[:4]} == {Kind.USAGE, Kind.ENVIRONMENT, Kind.LOCATION}


def test_a_memory_is_shown_beside_the_failure_only_with_a_trigger() -> None:
    """The trigger is the failure's own; without it the memory knows of none."""
    lesson = LESSONS[0]

    assert not lesson.memory("s").trigger.signatures
    assert lesson.memory("s", lesson.trigger()).trigger.signatures == lesson.trigger().signatures
    assert lesson.memory("s").is_shown
