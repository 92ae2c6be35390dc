"""One thing the doctor found: how bad it is, what was seen, what to do, and, where it is safe, how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from spanlore.figures import several


class Severity(IntEnum):
    """How bad it is; more is worse."""

    OK = 0
    NOTE = 1
    """Worth knowing; nothing need be done."""
    WARNING = 2
    """Something is less than it should be: less is captured, learned or shown."""
    ERROR = 3
    """Something does not work."""


EXIT_CODES: Final = {Severity.OK: 0, Severity.NOTE: 0, Severity.WARNING: 4, Severity.ERROR: 1}
"""What `spanlore doctor` exits with, by its worst finding."""

MARKS: Final = {Severity.OK: "ok  ", Severity.NOTE: "note", Severity.WARNING: "WARN", Severity.ERROR: "FAIL"}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    check: str
    """Which check: `ports`, `ca`, …"""
    severity: Severity
    says: str
    """What was seen, with names and numbers."""
    do: str = ""
    """What the user does about it; '' when there is nothing to do."""
    mend: Callable[[], str] | None = None
    """Mends it and says what was done. Only where nothing of the user's can be lost by it.

    Raises:
        OSError, ValueError, RuntimeError: it could not be mended.
    """

    def to_json(self) -> dict[str, Any]:
        """JSON object {check, severity, says, do, fixable}."""
        return {
            "check": self.check,
            "severity": self.severity.name.lower(),
            "says": self.says,
            "do": self.do,
            "fixable": self.mend is not None,
        }


def worst(findings: Iterable[Finding]) -> Severity:
    """The worst severity; OK of none."""
    return max((finding.severity for finding in findings), default=Severity.OK)


def mended(findings: Sequence[Finding]) -> list[str]:
    """Mends what can be mended, in order; one line each, a failure told in its line."""
    lines = []
    for finding in findings:
        if finding.mend is None:
            continue
        try:
            lines.append(f"{finding.check}: {finding.mend()}")
        except (OSError, ValueError, RuntimeError) as error:
            lines.append(f"{finding.check}: could not be mended: {error}")
    return lines


def render(findings: Sequence[Finding], width: int = 80) -> str:
    """For people: a line or two a finding, wrapped; what needs doing stands below it."""
    import textwrap

    lines = []
    for finding in findings:
        head = f"{MARKS[finding.severity]}  {finding.check:<13} "
        indent = " " * len(head)
        lines += textwrap.wrap(
            finding.says, width, initial_indent=head, subsequent_indent=indent, break_on_hyphens=False
        ) or [head.rstrip()]
        if finding.do:
            lines += textwrap.wrap(
                f"→ {finding.do}", width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
            )
    return "\n".join([*lines, _total(findings)])


def _total(findings: Sequence[Finding]) -> str:
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    fixable = sum(finding.mend is not None for finding in findings)
    text = f"{counts[Severity.ERROR]} failed, {several(counts[Severity.WARNING], 'warning')}, {counts[Severity.OK]} ok"
    return f"\n{text}" + (f"; `spanlore doctor --fix` mends {fixable}" if fixable else "")
