"""Regular expressions of all packages: none may take exponential time over what a tool prints or a person types.

The engine of `re` holds the interpreter while it tries, so such a pattern stops the whole process, agents' requests
among them. The attacks are made from each pattern: what leads to one of its repetitions, then that one over and over,
then something that nothing expects.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
import time
from collections.abc import Iterable, Iterator
from re import _constants as codes  # type: ignore[attr-defined]  # what `re` itself is made of
from re import _parser as parser  # type: ignore[attr-defined]
from types import FrameType
from typing import Any, Final

import pytest

PACKAGES: Final = ("spanlore", "spanlore_proxy", "spanlore_collector", "spanlore_extractor", "spanlore_dashboards")
ATTACK_CHARS: Final = 400
LIMIT_S: Final = 1.0
"""Of CPU time. Linear patterns take microseconds, quadratic ones milliseconds."""
SAMPLES: Final = 8
"""Ways in which a repetition's inside is filled: other branches, other characters, what may be left out."""
ANY_CHARS: Final = "a .1-/\\=:'\"_\n([{<`,;@$#*"


class TooSlowError(Exception):
    """Raised out of the middle of a match."""


def _interrupt(_: int, __: FrameType | None) -> None:
    raise TooSlowError


def patterns() -> dict[tuple[Any, int], tuple[re.Pattern[Any], str]]:
    """All compiled patterns that modules hold, with where."""
    found: dict[tuple[Any, int], tuple[re.Pattern[Any], str]] = {}
    for package in PACKAGES:
        for info in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
            if "__main__" in info.name:
                continue
            for name, value in vars(importlib.import_module(info.name)).items():
                for pattern in _inside(value, 0):
                    found.setdefault((pattern.pattern, pattern.flags), (pattern, f"{info.name}.{name}"))
    return found


def _inside(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4:
        parts: Iterable[object] = ()
        if isinstance(value, dict):
            parts = (*value, *value.values())
        elif isinstance(value, (tuple, list, set, frozenset)):
            parts = value
        elif not isinstance(value, type) and hasattr(value, "__dataclass_fields__"):
            parts = (getattr(value, name, None) for name in value.__dataclass_fields__)
        for part in parts:
            yield from _inside(part, depth + 1)


def attacks(pattern: re.Pattern[Any]) -> set[tuple[str, str]]:
    """What leads to a repetition without a small end, and what is repeated there."""
    found: set[tuple[str, str]] = set()
    flags = pattern.flags if isinstance(pattern.pattern, str) else pattern.flags & ~re.UNICODE
    _collect(parser.parse(pattern.pattern, flags), "", found)
    return found


def _collect(nodes: Iterable[tuple[Any, Any]], before: str, found: set[tuple[str, str]]) -> str:
    for op, argument in nodes:
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, inside = argument
            if most >= 32:
                found.update((before[-60:], pump) for way in range(SAMPLES) if (pump := _sample(inside, way)))
            _collect(inside, before, found)
            before += _sample(inside, 0) * least
        elif op is codes.BRANCH:
            for branch in argument[1]:
                _collect(branch, before, found)
            before += _sample(argument[1][0], 0)
        elif op is codes.SUBPATTERN:
            before = _collect(argument[3], before, found)
        else:
            before += _sample([(op, argument)], 0)
    return before


def _sample(nodes: Iterable[tuple[Any, Any]], way: int) -> str:
    """A short text that the nodes match, mostly."""
    out = ""
    for op, argument in nodes:
        if op is codes.LITERAL:
            out += chr(argument)
        elif op is codes.IN:
            fitting = [char for char in ANY_CHARS if _holds(argument, char)] or ["a"]
            out += fitting[way % len(fitting)]
        elif op in (codes.ANY, codes.NOT_LITERAL):
            out += "a"
        elif op is codes.BRANCH:
            out += _sample(argument[1][way % len(argument[1])], way)
        elif op is codes.SUBPATTERN:
            out += _sample(argument[3], way)
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            out += _sample(argument[2], way) * (argument[0] or way >> 2)
    return out


_CATEGORIES: Final = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _holds(members: Iterable[tuple[Any, Any]], char: str) -> bool:
    is_negated = is_in = False
    for op, argument in members:
        is_negated = is_negated or op is codes.NEGATE
        is_in = (
            is_in
            or (op is codes.LITERAL and argument == ord(char))
            or (op is codes.RANGE and argument[0] <= ord(char) <= argument[1])
            or (op is codes.CATEGORY and re.match(_CATEGORIES[argument], char) is not None)
        )
    return is_in is not is_negated


def slow_attack(pattern: re.Pattern[Any]) -> str:
    """The first attack that takes longer than the limit; '' when none does."""
    for before, pump in sorted(attacks(pattern)):
        text = before + pump * (ATTACK_CHARS // len(pump)) + "\x00"
        data = text if isinstance(pattern.pattern, str) else text.encode()
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
        try:
            pattern.match(data)
            pattern.search(data)
        except TooSlowError:
            return repr(before + pump)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


@pytest.fixture
def limited() -> Iterator[None]:
    """Matches may be interrupted."""
    old = signal.signal(signal.SIGVTALRM, _interrupt)
    yield
    signal.signal(signal.SIGVTALRM, old)


@pytest.mark.usefixtures("limited")
def test_no_pattern_takes_exponential_time() -> None:
    """Of any module, over texts that are made for its repetitions."""
    found = patterns()
    slow = {where: attack for pattern, where in found.values() if (attack := slow_attack(pattern))}

    assert len(found) > 300
    assert slow == {}


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize(
    "bad", [r"(?:a|a)*b", r"x(?:hm+|hmm+ ?)*y", r"'(?:\\.|[^'])*'", r"/\S*(?:\\? \S+)*\.py$", rb"(?:\s|\\n|\S)+?z"]
)
def test_a_pattern_that_does_is_found(bad: str | bytes) -> None:
    """Of the kinds that stood in the code before, and of bytes."""
    began_s = time.process_time()

    assert slow_attack(re.compile(bad))
    assert time.process_time() - began_s < 20 * LIMIT_S
