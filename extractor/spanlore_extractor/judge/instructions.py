"""The prompts: packaged Markdown, or the user's own version of it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 64 * 1024
NAMES: Final = ("judge",)


class PromptError(ValueError):
    """The user's prompt can't be used. The message says which and why."""


def packaged(name: str) -> str:
    """The prompt as it is shipped."""
    return (files("spanlore_extractor.judge") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def prompt(name: str, folder: Path) -> str:
    """The user's version in `folder`, else the packaged one.

    Raises:
        PromptError: the user's version can't be read, is empty or too long.
    """
    file = folder / f"{name}.md"
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return packaged(name)
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"can't read {file}: {error}. Mend it, or move it away.") from None
    if not text.strip() or len(text.encode()) > MAX_BYTES:
        raise PromptError(f"{file} is empty or larger than {MAX_BYTES} bytes. Mend it, or move it away.")
    return text
