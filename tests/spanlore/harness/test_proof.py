"""What a program's own last words prove."""

from __future__ import annotations

import pytest

from spanlore.harness.proof import proven
from spanlore.signature.command import parse_command


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("pytest -q", "..F\n=== 1 failed, 2 passed in 0.12s ===", False),
        ("uv run pytest", "...\n3 passed in 0.12s", True),
        ("pytest", "=== 2 passed, 1 warning in 1.10s (0:00:01) ===", True),
        ("pytest | tail -5", "=== 1 error in 0.12s ===", False),
        ("pytest", "no tests ran in 0.01s", False),
        ("python -m unittest", "Ran 3 tests in 0.1s\n\nFAILED (failures=1)", False),
        ("python -m unittest", "Ran 3 tests in 0.1s\n\nOK", True),
        ("python x.py", "Traceback (most recent call last):\n  File\nValueError: no", False),
        ("python x.py", "Traceback (most recent call last):\nValueError: no\ncaught, going on", None),
        ("go test ./...", "ok  \ta\t0.1s\nFAIL\tb\t0.2s\nFAIL", False),
        ("go test ./...", "ok  \ta\t0.1s\n?   \tb\t[no test files]", True),
        ("cargo build", "error: could not compile `x` (lib) due to 1 previous error", False),
        ("cargo test", "test result: ok. 3 passed; 0 failed", True),
        ("npm test", "npm error code ELIFECYCLE", False),
        ("npx vitest run", " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 9 passed (10)", False),
        ("npm test", "Tests:       3 passed, 3 total", True),
        ("npx tsc --noEmit", "src/a.ts(1,1): error TS2304: Cannot find name 'x'.", False),
        ("make all", "cc -c x.c\nmake: *** [Makefile:3: all] Error 1", False),
        ("git push", "fatal: not a git repository", False),
        ("frobnicate", "bash: line 1: frobnicate: command not found", False),
        # words alone prove nothing
        ("cat build.log", "error: could not compile\n1 failed in 0.1s", None),
        ("ls", "errors failures.txt", None),
        ("git log", "abc fatal: mentioned in a message", None),
        ("pytest", "", None),
    ],
)
def test_last_words(command: str, output: str, expected: bool | None) -> None:
    """Of the program that was run, in a form that nothing else has."""
    assert proven(parse_command(command), output) is expected
