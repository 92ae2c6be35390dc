"""What it means that one call answers another, and what both rules for commands and rules for files go by."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from spanlore.spans.place import Outcome
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.tools import ToolKind, kind_of


class DeltaType(StrEnum):
    """What made the difference."""

    USAGE = "usage"
    ENVIRONMENT = "environment"
    LOCATION = "location"
    HARNESS = "harness"
    CODE_FIX = "code_fix"
    FLAKY = "flaky"
    PERMISSION = "permission"


@dataclass(frozen=True, slots=True)
class Match:
    """The later call answers the failing one."""

    type: DeltaType
    reason: str
    is_action: bool = False
    """The later call is the remedy itself, not the failing call done right; its effect is to be confirmed."""


NOT_FOUND: Final = re.compile(
    r"does not exist|no such file or directory|ENOENT|not a directory|cannot find the (?:file|path)|"
    r"path .* not found|file not found",
    re.I,
)
MASKED: Final = ("pipeline", "guarded", "no_status")
"""Why it is unknown how a command ended, though it did end."""
MAX_LISTINGS: Final = 2
"""How many calls may look around between a failure and an answer that is none of the same command or file."""
MIN_TELLING_CHARS: Final = 5
"""A shorter word may be in two commands by chance."""
_LOOKS_FAILED: Final = re.compile(
    r"^(?:Traceback \(most recent|error(?:\[\w+\])?: |fatal: |FAIL(?:ED)?\b|npm ERR!|panic: |\(eval\):\d+: |"
    r".{0,120}: No such file or directory|.{0,120}command not found)|An error occurred while executing the command",
    re.M,
)


def is_success(step: ToolStep) -> bool:
    """Whether a call did what it was for. A pipe hides the exit code, so there the output must not look failed."""
    if step.outcome is Outcome.SUCCESS and not ("|" in step.command or step.exit_code):
        return True
    masked = step.outcome is Outcome.UNKNOWN and step.outcome_reason in MASKED
    if step.outcome is not Outcome.SUCCESS and not masked:
        return False
    return not (kind_of(step) is ToolKind.SHELL and _LOOKS_FAILED.search(step.output))
