"""The real proxy between the questions and a model of known policy."""

import json
from pathlib import Path

import pytest

from spanlore_proxy.uptake.asking import Answer, Book, Question, UptakeError, ask_all, score
from spanlore_proxy.uptake.lessons import make_lessons
from spanlore_proxy.uptake.wordings import WORDINGS
from support.scripted_chat import ScriptedChat, obeys, obeys_hints

LESSONS = make_lessons(4)
STANDARD = {"standard": WORDINGS["standard"]}
ABOUT = {"model": "m"}


def keep_quiet(line: str) -> None:
    """No progress."""


def named(book: Book) -> dict[str, set[bool]]:
    """By arm and moment, whether the word was named."""
    found: dict[str, set[bool]] = {}
    for answer in book.answers.values():
        found.setdefault(f"{answer.arm}, {answer.moment}", set()).add(answer.is_named)
    return found


async def test_a_model_that_obeys_names_what_it_is_shown_and_nothing_else(tmp_path: Path) -> None:
    """Block and hint reach it, in every lesson; with nothing, or a placebo, it can't know. Placebos mislead it."""
    book = Book(tmp_path / "answers.jsonl", ABOUT, is_resumed=False)
    with ScriptedChat(obeys) as chat:
        await ask_all(tmp_path, LESSONS, STANDARD, Question(chat.url, "m", 20), book, keep_quiet)

    assert named(book) == {
        "none, task": {False}, "none, failure": {False}, "block, task": {True}, "block, failure": {True},
        "hint, failure": {True}, "placebo block, task": {False}, "placebo hint, failure": {False},
    }  # fmt: skip
    assert {answer.is_misled for answer in book.answers.values() if answer.arm.startswith("placebo")} == {True}
    assert {request["path"] for request in chat.received} == {"/v1/chat/completions"}
    assert len(chat.received) == len(book.answers) == 7 * len(LESSONS)


async def test_the_place_is_what_the_arm_says(tmp_path: Path) -> None:
    """A model that reads only hints is helped by those alone, and the wording asked for is the one it is sent."""
    book = Book(tmp_path / "answers.jsonl", ABOUT, is_resumed=False)
    words = {"reservation-last": WORDINGS["reservation-last"]}
    with ScriptedChat(obeys_hints) as chat:
        await ask_all(tmp_path, LESSONS[:2], words, Question(chat.url, "m", 20), book, keep_quiet)

    assert {arm for arm, values in named(book).items() if values == {True}} == {"hint, failure"}
    shown = [json.dumps(request) for request in chat.received if "spanlore-" in json.dumps(request)]
    assert shown and all(words["reservation-last"].block_head in text or words["reservation-last"].hint_head in text
                         for text in shown)  # fmt: skip


async def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """What the file holds is not asked again, and the arm without a memory is asked once for all wordings."""
    path = tmp_path / "answers.jsonl"
    with ScriptedChat(obeys) as chat:
        book = Book(path, ABOUT, is_resumed=False)
        await ask_all(tmp_path, LESSONS[:2], STANDARD, Question(chat.url, "m", 20), book, keep_quiet)
        before = len(chat.received)
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[:-1]) + "\n")
        book = Book(path, ABOUT, is_resumed=True)
        await ask_all(tmp_path, LESSONS[:2], STANDARD, Question(chat.url, "m", 20), book, keep_quiet)
        again = len(chat.received) - before
        brief = {"brief": WORDINGS["brief"]}
        await ask_all(tmp_path, LESSONS[:2], brief, Question(chat.url, "m", 20), book, keep_quiet)
        other = len(chat.received) - before - again

    assert (before, again, other) == (14, 1, 10)
    assert len(book.answers) == len(path.read_text().splitlines()) - 1 == 24


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [(500, b'{"error": {"message": "no model"}}', r"500.*no model"), (200, b"[]", "no Chat Completions answer")],
)
async def test_trouble_is_told(tmp_path: Path, status: int, answer: bytes, message: str) -> None:
    """A server that refuses, or answers something else, ends the run with its words."""
    book = Book(tmp_path / "answers.jsonl", ABOUT, is_resumed=False)
    with ScriptedChat(obeys, status=status, answer=answer) as chat, pytest.raises(UptakeError, match=message):
        await ask_all(tmp_path, LESSONS, STANDARD, Question(chat.url, "m", 20), book, keep_quiet)


def test_answers_are_kept_apart(tmp_path: Path) -> None:
    """A file that holds answers is overwritten by nobody, and not mixed with answers to something else."""
    path = tmp_path / "answers.jsonl"
    book = Book(path, ABOUT, is_resumed=False)
    book.add(Answer(1, "standard", "block", "task", "x", True, False, False, 1, 0.1))

    with pytest.raises(UptakeError, match="--resume"):
        Book(path, ABOUT, is_resumed=False)
    with pytest.raises(UptakeError, match="is about"):
        Book(path, {"model": "other"}, is_resumed=True)
    assert Book(path, ABOUT, is_resumed=True).answers == book.answers
    path.write_text(path.read_text() + '{"lesson": 1')
    with pytest.raises(UptakeError, match="can't be read"):
        Book(path, ABOUT, is_resumed=True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{right}", (True, False, False)),
        ("I'd RUN `{upper}`", (True, False, False)),
        ("{wrong} again", (False, False, True)),
        ("{wrong}, then {right}", (True, False, False)),
        ("{other}", (False, True, False)),
        ("ls", (False, False, False)),
    ],
)
def test_scores(text: str, expected: tuple[bool, bool, bool]) -> None:
    """Named, misled, repeated: by the made-up word, and the failing command."""
    lesson, other = LESSONS[:2]
    said = text.format(right=lesson.right, upper=lesson.right.upper(), wrong=lesson.wrong, other=other.right)

    assert score(lesson, other, said) == expected
