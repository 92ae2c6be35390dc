"""What a program's own output proves about its end, where the agent does not tell (OpenCode sends output alone).

Only what the program says in its last words, in a form that nothing else has: a test runner's summary, a compiler's or
build tool's verdict, an exception that ended Python. The words must be those of the program that was run; a log that
talks about failures proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from spanlore.harness.benign_exits import READERS
from spanlore.harness.complaint import complains
from spanlore.signature.command import Command
from spanlore.signature.terminal import plain

_TAIL_LINES: Final = 40
_PYTEST = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s\b.*$")
_PYTEST_BAD = re.compile(r"\b\d+ (?:failed|errors?)\b|no tests ran")
_UNITTEST = re.compile(r"^(?:OK(?: \([^)]*\))?|FAILED \((?:failures|errors)=.*\))$")
_THROWN = re.compile(r"^(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|NotFound|Failed)(?:: .*)?$")
_GO = re.compile(r"^(FAIL|ok  ?|\?)(?:\s|$)")
_CARGO_BAD = re.compile(
    r"^error(?:\[E\d+\])?: (?:could not compile|test failed|aborting|\d+ targets? failed)|test result: FAILED"
)
_CARGO_GOOD = re.compile(r"^\s*Finished\b|^test result: ok\.")
_NPM_BAD = re.compile(r"^(?:npm (?:ERR!|error)\b|\s*ELIFECYCLE\b|error Command failed with exit code \d)")
_JEST = re.compile(r"^\s*(?:Tests|Test Suites|Test Files):?\s+(?=.*\d+ (?:failed|passed))(.*)$")
_TSC_BAD = re.compile(r"\berror TS\d+: |^Found \d+ errors?\b")
_MAKE_BAD = re.compile(r"^(?:g?make(?:\[\d+\])?): \*\*\* .*(?:Error \d+|Stop\.)")
_GIT_BAD = re.compile(r"^(?:fatal|error): ")
_SHELL_BAD = re.compile(
    r"^(?:\S*(?:bash|sh|zsh): )?(?:line \d+: )?.{1,200}: (?:command not found|not found)$|^zsh: command not found: "
)

type Judge = Callable[[list[str]], bool | None]


def proven(command: Command, output: str) -> bool | None:
    """True: it succeeded. False: it failed. None: the output proves neither."""
    lines = [line.rstrip() for line in plain(output[-16_384:]).splitlines() if line.strip()]
    if not lines:
        return None
    if len(lines) == 1 and _SHELL_BAD.match(lines[0]):
        return False
    judge = _JUDGES.get(command.program)
    if "python" in command.programs and command.program in READERS:
        judge = _python  # a script written and run in one line
    told = judge(lines[-_TAIL_LINES:]) if judge is not None else None
    return False if told is None and complains(command, lines) else told


def _pytest(lines: list[str]) -> bool | None:
    summary = next((found for line in reversed(lines[-3:]) if (found := _PYTEST.match(line))), None)
    return None if summary is None else _PYTEST_BAD.search(summary[1]) is None


def _python(lines: list[str]) -> bool | None:
    """A traceback with its exception as the last line ended the interpreter; the same for unittest's verdict."""
    if _UNITTEST.match(lines[-1]) and any(line.startswith("Ran ") for line in lines[-4:]):
        return lines[-1].startswith("OK")
    has_traceback = any(line.startswith("Traceback (most recent call last):") for line in lines)
    return False if has_traceback and _THROWN.match(lines[-1]) else _pytest(lines)


def _go(lines: list[str]) -> bool | None:
    marks = [found[1].strip() for line in lines if (found := _GO.match(line))]
    if "FAIL" in marks:
        return False
    return True if marks and all(_GO.match(line) for line in lines) and "ok" in marks else None


def _jest(lines: list[str]) -> bool | None:
    summaries = [found[1] for line in lines if (found := _JEST.match(line))]
    if summaries:
        return not any(re.search(r"\b[1-9]\d* failed\b", summary) for summary in summaries)
    return _npm(lines)


def _npm(lines: list[str]) -> bool | None:
    return False if any(_NPM_BAD.match(line) for line in lines) else None


def _one(bad: re.Pattern[str], good: re.Pattern[str] | None = None) -> Judge:
    def judge(lines: list[str]) -> bool | None:
        if any(bad.search(line) for line in lines):
            return False
        return True if good is not None and any(good.search(line) for line in lines[-3:]) else None

    return judge


def _git(lines: list[str]) -> bool | None:
    """Git says `fatal:` and stops; in the middle of other output it would be a log's."""
    return False if _GIT_BAD.match(lines[0]) and lines[0].startswith("fatal") else None


_JUDGES: Final[Mapping[str, Judge]] = {
    "pytest": _pytest,
    "python": _python,
    "unittest": _python,
    "tox": _pytest,
    "go": _go,
    "cargo": _one(_CARGO_BAD, _CARGO_GOOD),
    "jest": _jest,
    "vitest": _jest,
    "npm": _jest,
    "pnpm": _jest,
    "yarn": _jest,
    "bun": _jest,
    "tsc": _one(_TSC_BAD),
    "make": _one(_MAKE_BAD),
    "gmake": _one(_MAKE_BAD),
    "git": _git,
}
