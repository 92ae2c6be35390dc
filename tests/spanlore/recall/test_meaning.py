"""Vectors of memories, compared; with vectors that count letters in the place of a library's."""

from collections.abc import Sequence
from dataclasses import replace

import numpy
import pytest
from numpy.typing import NDArray

from spanlore.memory.memory import Memory
from spanlore.recall.meaning import MIN_SIMILARITY, Meanings, said
from support.injecting import make_memory

MEMORIES = [make_memory(text, text=text) for text in ("aaaa", "aabb", "bbbb", "cccc")]


class Letters:
    """Texts to rows of letter counts; keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[numpy.float32]:
        self.asked += texts
        rows = numpy.array([[text.count(letter) for letter in "abc"] for text in texts], numpy.float32)
        lengths = numpy.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / numpy.where(lengths == 0, 1, lengths)).astype(numpy.float32)


def texts(found: list[tuple[Memory, float]]) -> list[str]:
    return [memory.text for memory, _ in found]


def test_the_nearest_come_first() -> None:
    """With their cosines; what has nothing in common is not among them."""
    found = Meanings.of(MEMORIES, Letters()).nearest("a", 10, lambda memory: True)

    assert texts(found) == ["aaaa", "aabb"]
    assert [similarity for _, similarity in found] == pytest.approx([1.0, 0.7071], abs=1e-3)
    assert all(similarity >= MIN_SIMILARITY for _, similarity in found)


def test_only_what_is_admitted_and_no_more_than_asked() -> None:
    """The limit counts those admitted."""
    meanings = Meanings.of(MEMORIES, Letters())

    assert texts(meanings.nearest("ab", 1, lambda memory: memory.text != "aabb")) in (["aaaa"], ["bbbb"])
    assert len(meanings.nearest("abc", 2, lambda memory: True)) == 2


def test_what_is_known_is_not_worked_out_again() -> None:
    """Only a memory whose text is new, or changed, gets a vector."""
    embed = Letters()
    before = Meanings.of(MEMORIES, embed)
    embed.asked.clear()
    changed = [*MEMORIES[:2], replace(MEMORIES[2], text="abcb"), make_memory("new", text="cb")]
    after = Meanings.of(changed, embed, before)

    assert embed.asked == [said(changed[2]), said(changed[3])]
    assert texts(after.nearest("a", 1, lambda memory: True)) == ["aaaa"]


def test_nothing_to_compare() -> None:
    """No memories, or no question: nothing is near."""
    assert Meanings.of([], Letters()).nearest("a", 3, lambda memory: True) == []
    assert Meanings.of(MEMORIES, Letters()).nearest(" ", 3, lambda memory: True) == []
