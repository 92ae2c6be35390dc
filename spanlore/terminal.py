"""Text of strangers on the user's terminal.

Prompts, commands, tool outputs and memories come from models, files and web pages. Written out as they are, an escape
sequence in one could retitle the window, fill the clipboard (OSC 52) or hide what stands before it, and a bidirectional
override could make a command read as another (CVE-2021-42574).
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

_ACTIVE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, bidirectional controls, halves of surrogate pairs."""
_MARK: Final = "\N{REPLACEMENT CHARACTER}"


def harmless(text: str) -> str:
    """The text with everything that a terminal would act on replaced by a mark."""
    return _ACTIVE.sub(_MARK, text)


def show(view: RenderableType) -> None:
    """Prints a rich view to stdout: its own styles, and only harmless text."""
    _take_every_character()
    console().print(_Harmless(view))


def console() -> Console:
    """A console for stdout that shows text as it is: a prompt with `[red]`, `a[/b]` or `:tada:` in it is no markup.
    rich would leave out the first, end with an error at the second and draw the third."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def harmless_view(view: RenderableType) -> RenderableType:
    """The view with only harmless text, for what prints by itself, such as rich's Live."""
    return _Harmless(view)


def write(text: str) -> None:
    """Prints plain text and a line feed to stdout, harmless."""
    _take_every_character()
    sys.stdout.write(harmless(text) + "\n")


COLUMNS: Final = 80
"""Messages are no wider than this, however wide the terminal is."""


def tell(message: str) -> None:
    """One message to the user, to stderr, harmless. On a terminal it is broken between words; elsewhere a line of it
    stays a line, so that a script can look for its words."""
    text = harmless(message)
    if sys.stderr.isatty():
        width = min(COLUMNS, shutil.get_terminal_size((COLUMNS, 24)).columns)
        text = "\n".join(_broken(line, width) for line in text.split("\n"))
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _broken(line: str, width: int) -> str:
    lead = line[: len(line) - len(line.lstrip(" "))]
    pieces = textwrap.wrap(
        line,
        width,
        subsequent_indent=lead,
        break_long_words=False,  # paths and commands can be copied
        break_on_hyphens=False,
    )
    return "\n".join(pieces)


class _Harmless:
    def __init__(self, view: RenderableType) -> None:
        self._view = view

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        from rich.segment import Segment

        for text, style, control in console.render(self._view, options):
            yield Segment(text, style, control) if control else Segment(harmless(text), style)


def _take_every_character() -> None:
    """A terminal that is not UTF-8 shows what it cannot as `?`, instead of ending the command with an error."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
