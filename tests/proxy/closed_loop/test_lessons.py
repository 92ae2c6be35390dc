"""Planted lessons: what fails, what works, and that no two repositories teach the same."""

import pytest

from spanlore_proxy.closed_loop.lessons import make_repository, schedule

REPOSITORY = make_repository("x", 1)


@pytest.mark.parametrize("lesson", REPOSITORY.lessons, ids=lambda lesson: lesson.area)
def test_a_lesson_is_what_it_says(lesson) -> None:  # type: ignore[no-untyped-def]
    """The right command works; the wrong one fails, or works and is corrected; looking is no command that does it."""
    assert lesson.run(lesson.right)[0] == 0
    assert lesson.run(lesson.wrong)[0] == (0 if lesson.is_correction else 1)
    assert lesson.run(lesson.look)[0] == 0
    assert lesson.right not in lesson.run(lesson.look)[1]
    assert lesson.right in lesson.correction
    assert lesson.area in lesson.task


def test_a_repository_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    """A placebo has to teach something else."""
    other = {lesson.right for lesson in make_repository("y", 2).lessons}

    assert make_repository("x", 1) == REPOSITORY
    assert not other & {lesson.right for lesson in REPOSITORY.lessons}
    assert all(lesson.right in REPOSITORY.instructions for lesson in REPOSITORY.lessons)


def test_every_lesson_comes_equally_often() -> None:
    """In a mixed order."""
    order = schedule(REPOSITORY, 30, 3)

    assert {order.count(lesson) for lesson in REPOSITORY.lessons} == {5}
    assert order != schedule(REPOSITORY, 30, 4)
