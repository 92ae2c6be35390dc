"""What strangers wrote, on the user's terminal."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from spanlore.terminal import harmless, show, write

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
