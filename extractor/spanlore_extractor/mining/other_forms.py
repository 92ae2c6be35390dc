"""Whether another command line asks for the same thing in another form: options more, another order, another package
manager, a module in place of a file, the same target told otherwise, tests by the project's own target. One pair at a
time; `pairing` asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from spanlore_extractor.mining.answer import MAX_LISTINGS, DeltaType, Match
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import ShellLine, action_of, program_of

MAX_ADDED_WORDS: Final = 6
_MANAGERS: Final = (
    frozenset({"npm", "pnpm", "yarn", "bun"}),
    frozenset({"pip", "uv", "poetry", "pipenv", "pdm", "conda", "hatch"}),
    frozenset({"docker", "podman", "nerdctl"}),
    frozenset({"make", "just", "task", "mise"}),
)
"""Programs that do the same for different projects."""
MAX_WRAPPER_WORDS: Final = 3
_WRAPPERS: Final = frozenset(
    {"sudo", "doas", "npx", "bunx", "bundle", "uv", "uvx", "poetry", "pipenv", "hatch", "pnpm", "yarn", "bash", "sh",
     "env", "xvfb-run", "mise", "direnv", "nix", "python3", "python", "node", "php", "ruby", "dotenv", "wsl"}
)  # fmt: skip
_TESTS_BY_HAND: Final = frozenset(
    {("pytest",), ("python", "pytest"), ("python", "unittest"), ("jest",), ("vitest",), ("mocha",), ("rspec",),
     ("phpunit",)}
)  # fmt: skip
_NOT_LOADED: Final = re.compile(
    r"ModuleNotFoundError|ImportError|\bNo module named\b|Cannot find (?:module|package)|cannot load such file|"
    r"^\w*KeyError: '[A-Z][A-Z0-9_]+'|errors? during collection|Class \"\S+\" not found",
    re.M,
)
"""The tests' surroundings were missing, not what they test."""
_TESTS_RAN: Final = re.compile(r"AssertionError|\b[1-9]\d* passed\b|✓")
_TARGET_RUNNERS: Final = frozenset({"make", "just", "task", "mise", "npm", "pnpm", "yarn", "bun", "rake", "composer"})
_TEST_TARGET: Final = re.compile(r"(?:unit[-_:]?)?(?:check|tests?|specs?|verify)(?:[-_:]unit)?")
_INSTALL: Final = frozenset({"install", "ci", "i", "sync", "add"})


def other_form(one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """The rule by which `other` is `one` in another form, or None. `between` are the calls that stand between them."""
    return (
        _quoted(one, other)
        or _wrapped(one, other)
        or _as_module(one, other)
        or _other_manager(one, other, between)
        or _another_way(one, other, between)
    )


def by_test_target(failure: ToolStep, one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """Tests that were called by hand did not even load, and the project's own target runs them with what they need."""
    is_loading = _NOT_LOADED.search(failure.output) and not _TESTS_RAN.search(failure.output)
    if len(between) > MAX_LISTINGS or not is_loading or not is_test_target(one, other):
        return None
    return Match(DeltaType.USAGE, f"`{' '.join(other.last)}` runs the tests with what they need")


def is_test_target(one: ShellLine, other: ShellLine) -> bool:
    """Whether `one` calls tests by hand and `other` is the project's target for them (`make check`, `npm run test`)."""
    words = [word for word in other.last[1:] if not word.startswith("-") and "=" not in word]
    words = words[1:] if words[:1] == ["run"] else words
    is_target = len(words) == 1 and bool(_TEST_TARGET.fullmatch(words[0]))
    return action_of(one.last) in _TESTS_BY_HAND and program_of(other.last) in _TARGET_RUNNERS and is_target


def with_options(one: ShellLine, other: ShellLine) -> Match | None:
    """The same words with options more, wherever they stand, or the same words in another order."""
    before, after = one.last, other.last
    if len(before) < 2 or before[0] != after[:1][0] or before == after or one.heredocs != other.heredocs:
        return None
    if sorted(before) == sorted(after):
        return Match(DeltaType.USAGE, "the same words in another order")
    added = list(after)
    for word in before:
        if word not in added:
            return None
        added.remove(word)
    words = iter(after)
    if not all(word in words for word in before) or len(added) > MAX_ADDED_WORDS:
        return None
    if not added[0].startswith("-") and not added[-1].startswith("-"):
        return None
    return Match(DeltaType.USAGE, f"the same command with `{' '.join(added)[:80]}`")


def _quoted(one: ShellLine, other: ShellLine) -> Match | None:
    """The same words, held together by quotes (`cat My Notes.md`, `cat "My Notes.md"`)."""
    before, after = one.last, other.last
    is_same = before != after and " ".join(before) == " ".join(after)
    return Match(DeltaType.USAGE, "the same words, quoted") if is_same else None


def _wrapped(one: ShellLine, other: ShellLine) -> Match | None:
    """The same command given to another program (`docker ps`, `sudo docker ps`; `./a.sh`, `bash a.sh`)."""
    before, after = one.last, other.last
    size = len(after) - len(before)
    if not before or not 0 < size <= MAX_WRAPPER_WORDS or after[0] not in _WRAPPERS:
        return None
    tail = after[size:]
    is_same = tail[0].removeprefix("./") == before[0].removeprefix("./") and tail[1:] == before[1:]
    return Match(DeltaType.USAGE, f"works with `{' '.join(after[:size])}`") if is_same else None


def _as_module(one: ShellLine, other: ShellLine) -> Match | None:
    """`python shop/cli.py`, `python -m shop.cli`."""
    before, after = one.last, other.last
    if program_of(before) != "python" or program_of(after) != "python" or "-m" not in after or len(before) < 2:
        return None
    module = after[after.index("-m") + 1 :][:1]
    path = before[1].removesuffix(".py").removesuffix("/__main__").replace("/", ".").strip(".")
    return Match(DeltaType.USAGE, "run as a module") if module and path and path.endswith(module[0]) else None


def _other_manager(one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """The same of another package manager or task runner (`npm ci`, `pnpm install`)."""
    before, after = one.last, other.last
    if len(before) < 2 or len(after) < 2 or before[0] == after[0] or len(between) > MAX_LISTINGS:
        return None
    if not any(before[0] in family and after[0] in family for family in _MANAGERS):
        return None
    was, is_now = ([word for word in argv[1:] if not word.startswith("-")] for argv in (before, after))
    if not was or not is_now:
        return None
    is_same = was == is_now or (was[0] in _INSTALL and is_now[0] in _INSTALL and was[1:] == is_now[1:])
    is_same = is_same or (was[:1] == ["run"] and was[1:] == is_now) or (is_now[:1] == ["run"] and is_now[1:] == was)
    return Match(DeltaType.USAGE, f"`{after[0]}`, not `{before[0]}`") if is_same else None


def _another_way(one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """The very next call: the same subcommand for the same thing, told otherwise (`git checkout main` where another
    worktree has it, `git checkout -b fix origin/main`)."""
    before, after = one.last, other.last
    action = action_of(before)
    if between or len(action) < 2 or action_of(after) != action or before == after or one.heredocs != other.heredocs:
        return None
    words = [word for word in before[len(action) :] if len(word) >= 4 and not word.startswith("-")]
    told = [word for word in words if any(word != given and (word in given or given in word) for given in after[2:])]
    return Match(DeltaType.USAGE, f"the same for `{told[0]}` in another way") if told else None
