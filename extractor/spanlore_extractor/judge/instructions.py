"""The prompts: packaged Markdown, or the user's own version of it, and what the user adds for one agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 64 * 1024
NAMES: Final = ("judge", "chapter")
"""What decides on lessons; what shortens a month of sessions."""


class PromptError(ValueError):
    """The user's prompt can't be used. The message says which and why."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """One prompt for all agents, and what follows it for some; what all are asked comes first: an API caches it."""

    general: str
    by_agent: Mapping[str, str] = field(default_factory=dict)
    """What is added, by the harness's name."""

    def added_for(self, agent: str) -> str:
        """What follows the general prompt for that agent; '' for nothing."""
        return self.by_agent.get(agent, "")


def packaged(name: str) -> str:
    """The prompt as it is shipped."""
    return (files("spanlore_extractor.judge") / "prompts" / f"{name}.md").read_text(encoding="utf-8")


def prompt(name: str, folder: Path) -> str:
    """The user's version in `folder`, else the packaged one.

    Raises:
        PromptError: the user's version can't be read, is empty or too long.
    """
    text = _own(folder / f"{name}.md")
    return packaged(name) if text is None else text


def prompts(name: str, folder: Path) -> Prompts:
    """The prompt and all additions, each `NAME.AGENT.md`. Files are found by looking: no recorded name becomes a path.

    Raises:
        PromptError: one of the user's files can't be read, is empty or too long.
    """
    added = {}
    for file in sorted(folder.glob(f"{name}.*.md")):
        text = _own(file)
        if text is not None:
            added[file.name.removeprefix(f"{name}.").removesuffix(".md")] = text
    return Prompts(prompt(name, folder), added)


def _own(file: Path) -> str | None:
    """The file's text; None where there is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"can't read {file}: {error}. Mend it, or move it away.") from None
    if not text.strip() or len(text.encode()) > MAX_BYTES:
        raise PromptError(f"{file} is empty or larger than {MAX_BYTES} bytes. Mend it, or move it away.")
    return text
