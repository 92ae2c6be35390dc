"""What strangers wrote, on the user's terminal."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from spanlore.terminal import harmless, show, tell, write

HOSTILE = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2Jc\x9bd\u202ee\rf"
SEEN = "a�]52;c;ZXZpbA==�b�[2Jc�d�e�f"


@given(st.text())
def test_nothing_acts_on_the_terminal(text: str) -> None:
    """No control character but tab and line feed is left, and what is printable stays as it was."""
    shown = harmless(text)

    assert len(shown) == len(text)
    assert all(one in "\t\n" or ord(one) >= 32 for one in shown)
    assert harmless(shown) == shown
    assert all(two in (one, "�") for one, two in zip(text, shown, strict=True))


def test_views_are_shown_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    """In a table, in styled text and in plain text."""
    table = Table(box=None)
    table.add_column()
    table.add_row(Text(HOSTILE, "bold"))
    show(table)
    write(HOSTILE)
    shown = capsys.readouterr().out

    assert "\x1b" not in shown
    assert shown.count("�[2Jc�d�e") == 2


def test_brackets_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A prompt says what it says: brackets are neither left out nor an error, and colons draw no picture."""
    said = "fix a[i] and [red]x[/red], ![/b] :tada:"
    table = Table(box=None)
    table.add_column(said)
    table.add_row(said)
    show(table)
    show(said)

    assert capsys.readouterr().out.count(said) == 3


def test_write_keeps_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Tabs and line feeds are no harm."""
    write("one\ttwo\n" + HOSTILE)

    assert capsys.readouterr().out == f"one\ttwo\n{SEEN}\n"


def test_terminal_that_is_not_utf8() -> None:
    """What it cannot show is a question mark, not a traceback."""
    program = "from spanlore.terminal import show, write; show('✓ done'); write('“é”')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONIOENCODING": "latin-1", "PATH": ""},
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("latin-1").splitlines() == ["? done", "?é?"]


def test_any_stdout_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that cannot be reconfigured is written to as it is."""
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    write("fine")

    assert stream.getvalue() == "fine\n"


def _on_a_terminal(message: str, columns: int) -> list[str]:
    ours, theirs = os.openpty()
    program = "import sys; from spanlore.terminal import tell; tell(sys.argv[1])"
    environ = {"PATH": "", "COLUMNS": str(columns), "PYTHONUTF8": "1"}
    subprocess.run([sys.executable, "-c", program, message], env=environ, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    return shown.replace("\r\n", "\n").rstrip("\n").split("\n")


@pytest.mark.parametrize(("columns", "widest"), [(40, 40), (80, 80), (300, 80)])
def test_messages_are_broken_between_words(columns: int, widest: int) -> None:
    """On a terminal, at its width and at 80 columns at most; a path stays whole, and indented lines stay indented."""
    path = "/a/path-that/is-longer/than/any/of/the/terminals" * 2
    words = "  the store of this machine can not be opened, since another daemon has it; stop that one first"
    shown = _on_a_terminal(f"spanlore: {path} is away\n{words}", columns)

    assert " ".join(line.strip() for line in shown) == f"spanlore: {path} is away {words.strip()}"
    assert all(len(line) <= widest for line in shown if path not in line)
    assert len([line for line in shown if line.startswith("  ")]) == (3 if widest == 40 else 2)


def test_a_message_in_a_pipe_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A script can look for its words; what would act on the terminal is replaced there, too."""
    tell("word " * 100 + HOSTILE)

    assert capsys.readouterr().err == "word " * 100 + SEEN + "\n"
