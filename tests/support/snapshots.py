"""Output that is compared with a file, letter by letter; SPANLORE_TEST_SNAPSHOTS=write writes the files anew."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from spanlore.settings import child_environment


def plain(view: RenderableType) -> str:
    """As on a terminal of 80 columns without colour, trailing blanks cut."""
    out = StringIO()
    Console(file=out, width=80, no_color=True, highlight=False).print(view)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def same(text: str, file: Path) -> None:
    """The text is the file's, and no line is wider than a terminal."""
    if child_environment({}).get("SPANLORE_TEST_SNAPSHOTS") == "write":
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs"
    assert max(map(len, text.splitlines())) <= 80


@contextmanager
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local times are UTC's."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()
