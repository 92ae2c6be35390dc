"""What agents print around a program's output."""

from __future__ import annotations

import pytest

from spanlore.harness.printed import Printed, read_printed

CODEX = (
    "Chunk ID: 24fda8\nWall time: 0.0000 seconds\nProcess exited with code {code}\n"
    "Original token count: 10\nOutput:\n{output}"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Command failed: Command failed: cat x\ncat: x: none\n", Printed("cat: x: none\n", has_failed=True)),
        ("Command failed: grep x y", Printed("", has_failed=True)),
        ("it-works", Printed("it-works")),
    ],
)
def test_grok_cli(text: str, expected: Printed) -> None:
    """As recorded with 0.0.34: the command again, then what it printed."""
    assert read_printed(text, "grok-cli") == expected


KIMI = (
    "Wall time: 0.380 seconds\n<system>ERROR: Tool execution failed.</system>\ncat: x: none\n"
    "Command failed with exit code: 3."
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (KIMI, Printed("cat: x: none", 3)),
        ("Wall time: 0.259 seconds\nit-works\n", Printed("it-works\n")),
        ("Wall time: 0.259 seconds", Printed("")),
        ("<system>ERROR: Tool execution failed.</system>\nno such tool", Printed("no such tool", has_failed=True)),
        ("it-works", Printed("it-works")),
        ("Command failed with exit code: 3.\nsays the log", Printed("Command failed with exit code: 3.\nsays the log")),
    ],
)
def test_kimi_code(text: str, expected: Printed) -> None:
    """As recorded with 2.1: what it says stands in front and at the very end; the rest is the program's."""
    assert read_printed(text, "kimi-code") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CODEX.format(code=3, output="bad\n"), Printed("bad\n", 3)),
        # only the header counts, whatever the program or its command says
        (CODEX.format(code=0, output="Process exited with code 9\n"), Printed("Process exited with code 9\n", 0)),
        (
            "Command: /bin/zsh -lc 'echo\nExit code: 7\n'\n" + CODEX.format(code=1, output="x"),
            Printed("x", 1),
        ),
        (
            "Chunk ID: 1\nWall time: 1.0 seconds\nProcess running with session ID 13183\nOutput:\npart",
            Printed("part", running="13183"),
        ),
        ("Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno", Printed("no", 2)),
        ('{"output":"Success","metadata":{"exit_code":0,"duration_seconds":0.0}}', Printed("Success", 0)),
        (
            "apply_patch verification failed: Failed to find",
            Printed("apply_patch verification failed: Failed to find", has_failed=True),
        ),
        ("Plan updated", Printed("Plan updated")),
        # code mode
        (
            'Script completed\nWall time 0.1 seconds\nOutput:\n{"exit_code":3,"output":"no module"}',
            Printed("no module", 3),
        ),
        (
            'Script completed\nOutput:\na "exit_code": 0 b "exit_code": 0',
            Printed('a "exit_code": 0 b "exit_code": 0', 0),
        ),
        (
            'Script completed\nOutput:\n"exit_code":0 "exit_code":1',
            Printed('"exit_code":0 "exit_code":1', is_mixed=True),
        ),
        ("Script completed\nOutput:\nhello", Printed("hello")),
        ("Script failed\nWall time 0.1 seconds\nOutput:\nTypeError", Printed("TypeError", has_failed=True)),
        ("Script running with cell ID 66\nWall time 11.0 seconds\nOutput:", Printed("", running="66")),
    ],
)
def test_codex(text: str, expected: Printed) -> None:
    """Headers of every kind of its tools."""
    assert read_printed(text, "codex") == expected


@pytest.mark.parametrize(
    ("harness", "text", "expected"),
    [
        ("mini-swe-agent", '{"returncode": 3, "output": "x"}', Printed("x", 3)),
        ("mini-swe-agent", '{"output": "x", "returncode": 0}', Printed("x", 0)),
        ("mini-swe-agent", "<returncode>1</returncode>\n<output>\nx</output>", Printed("x", 1)),
        ("mini-swe-agent", "{broken", Printed("{broken")),
        (
            "qwen-code",
            "Command: x\nDirectory: y\nOutput: Exit Code: 9\nError: boo\nExit Code: 3\nSignal: (none)\nPIDs: 7",
            Printed("Exit Code: 9\nboo", 3),
        ),
        ("qwen-code", "Output: ok\nError: (none)\nExit Code: 0\nSignal: (none)", Printed("ok", 0)),
        ("gemini-cli", "Output: a\nError: b\nExit Code: 3\nProcess Group PGID: 7", Printed("a\nError: b", 3)),
        ("gemini-cli", "Output: Exit Code: 9\nProcess Group PGID: 7", Printed("Exit Code: 9")),
        (
            "gemini-cli",
            "<untrusted_context>\nOutput: 1 failed\nExit Code: 1\nProcess Group PGID: 5\n</untrusted_context>",
            Printed("1 failed", 1),
        ),
        ("gemini-cli", "Command: x\nOutput: boo\nError: (none)\nExit Code: 3\nSignal: (none)", Printed("boo", 3)),
        ("gemini-cli", "a file's text", Printed("a file's text")),
        ("pi", "no\n\nCommand exited with code 3", Printed("no", 3)),
        ("opencode", "out\n\n<bash_metadata>\ntimeout\n</bash_metadata>", Printed("out")),
        ("claude-code", "Exit code 3\nx", Printed("Exit code 3\nx")),
    ],
)
def test_others(harness: str, text: str, expected: Printed) -> None:
    """Each in its own way; of an agent that prints nothing of its own the text is the output."""
    assert read_printed(text, harness) == expected


def test_openclaw() -> None:
    """A last line in brackets; none where it went well, and a program's own such line in the middle is output."""
    said = "x\n(Command exited with code 9)\ny"

    assert read_printed("no such file\n\n(Command exited with code 3)", "openclaw") == Printed("no such file", 3)
    assert read_printed(said, "openclaw") == Printed(said)
