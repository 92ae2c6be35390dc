"""What a person told the agent not to use, against what failures and fixes recommend.

"Don't call unittest directly, always run `make check`" and a mined "`python3 -m unittest` failed; `PYTHONPATH=src
python3 -m unittest` worked instead" are about different subjects, so no slot is shared and nothing supersedes; shown
together they would send an agent two ways. The person counts more than what was inferred.

Only what is refused outright counts: "don't run pytest without -q" or "… in the root" refuses one way of doing it, not
the thing. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from spanlore.memory.memory import Memory
from spanlore.signature.command import parse_command, program_name
from spanlore_extractor.memories.wording import code_parts
from spanlore_extractor.mining.shell import take_apart

_USE: Final = r"(?:use|using|run|running|call|calling|invoke|invoking|execute|executing)"
_THING: Final = r"(?:`(?P<ticked>[^`\n]{2,80})`|(?P<word>[\w@][\w@./:+-]*\w|--[\w-]+))"
_OUTRIGHT: Final = (
    r"(?=\s*(?:$|[.,;:!?)\n—–]|-\s|(?:directly|here|anymore|any more|any longer|at all|again|ever|by hand|yourself|"
    r"and|but)\b|(?:in|for|on) (?:this|the|our) (?:repo|repository|project|codebase)\b))"
)
_REFUSED: Final = re.compile(
    rf"(?i)\b(?:(?:never|not|don['’]?t|dont|stop|avoid|no longer)\s+(?:ever\s+)?{_USE}|avoid|"
    rf"(?:instead of|rather than)(?:\s+{_USE})?)\s+(?:the\s+)?{_THING}{_OUTRIGHT}"
)
_WANTED: Final = re.compile(
    rf"(?i)(?<!not )(?<!never )(?<!n't )(?<!n’t )(?<!dont )(?<!stop )(?<!avoid )\b{_USE}\s+(?:the\s+)?{_THING}"
)


def disowns(statement: Memory, memory: Memory) -> bool:
    """Whether the person's words of `statement` refuse what `memory`, mined from a failure and its fix, recommends.

    Only within one repository, or where the person's words hold in all of them; and never words that hold for a while.
    """
    if not memory.kind.recommends or memory.source.is_stated or not statement.source.is_stated:
        return False
    if statement.is_live and statement.valid_to_ns:
        return False
    if statement.harness and memory.harness and statement.harness != memory.harness:
        return False
    refused, wanted = _stances(statement.why or statement.text)
    parts = code_parts(memory.text)
    if not refused or not parts or parts[-1].endswith("…"):
        return False
    command = " ".join(parts[-1].split()).casefold()
    names = _names_of(command)
    is_refused = any(_is_named(thing, command, names) for thing in refused)
    return is_refused and not any(_is_named(thing, command, names) for thing in wanted)


@lru_cache(1024)
def _stances(words: str) -> tuple[frozenset[str], frozenset[str]]:
    """(what the words refuse outright, what they want instead), in lower case."""
    refused = {found["ticked"] or found["word"] for found in _REFUSED.finditer(words)}
    wanted = {found["ticked"] or found["word"] for found in _WANTED.finditer(words)}
    return frozenset(map(str.casefold, refused)), frozenset(map(str.casefold, wanted))


def _names_of(command: str) -> frozenset[str]:
    """Programs that the last command of a line runs, the wrapper's name and that of what it wraps."""
    last = take_apart(command).last
    return frozenset({program_name(last[0]), parse_command(command).program}) if last else frozenset()


def _is_named(thing: str, command: str, names: frozenset[str]) -> bool:
    """Whether the command is what a person called `thing`: its program, its first words, or one of its options."""
    if thing.startswith("-"):
        return thing in command.split()
    if " " not in thing:
        return program_name(thing) in names
    return any(" ".join(words).startswith(thing) for words in take_apart(command).commands)
