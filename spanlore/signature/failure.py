"""The identity of a failure: what stays the same when the same thing goes wrong again, on another day and machine.

Three words make it: the program, the error class, and the first significant line of the output, normalised. The class
is an exception's or tool's own name for the error where it has one, else one of a short list. This module only ever
looks at output that is already known to belong to a failure; it does not judge whether something failed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spanlore.genai.messages import ToolCall
from spanlore.signature.command import parse_command, shell_text, tool_program
from spanlore.signature.error_classes import classify
from spanlore.signature.normalise import normalise_line
from spanlore.signature.terminal import plain

__all__ = ["MAX_LINE_CHARS", "MAX_SCAN_CHARS", "Signature", "failure_signature", "signature_of", "tool_program"]

MAX_SCAN_CHARS: Final = 65_536
"""Output beyond this (half from the front, half from the end) is not looked at."""
MAX_LINE_CHARS: Final = 300
_MAX_LINES: Final = 2_000


@dataclass(frozen=True, slots=True)
class Signature:
    """The normalised identity of one failure."""

    hash: str
    """16 hex digits over program, class and line."""
    program: str
    error_class: str
    error_line: str
    """Normalised, at most `MAX_LINE_CHARS`; '' when the output says nothing."""


_EXCEPTION = re.compile(
    r"^\s*(?:E\s+)?(?:Uncaught |Caused by: |panic: )?((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt|Exit))(?::|$)"
)
_TRACEBACK: Final = "Traceback (most recent call last):"
_MARKED = re.compile(
    r"^\W{0,3}\s*(?:\S{1,60}\s)?"
    r"(?:error|fatal|failure|failed|fail|panic|exception|abort(?:ed)?|critical|err!)\b[:!\[ (]"
    r"|^(?:\S+: ){1,4}(?:line \d+: )?\S|^\S+:\d+(?::\d+)?:? |^npm (?:err!|error) |--- FAIL: |^E\s{2,}\S|^\s*[×✗✘✖]\s",
    re.I,
)
_NOISE = re.compile(
    r"^\s*(?:\$ |> |==>|\[[\w:.-]+\] \$|=== (?:RUN|PAUSE|CONT|NAME)|ok\s+\t?|--- (?:PASS|SKIP)|PASS\b|\?\s+\t|✓|√"
    r"|exit code \d|warning\b|warn\b|hint:|note:|info\b|debug\b|usage:|at \S|for more information|try ')|^[\W_]*$",
    re.I,
)
_EXIT_PREFIX = re.compile(r"^(?:Exit code -?\d+\s*\n?|<tool_use_error>|Error: Exit code \d+\n)")
_REMINDERS = re.compile(r"<system-reminder>.*?</system-reminder>|</?tool_use_error>", re.S)


def failure_signature(tool_name: str, command_text: str, output_text: str, exit_code: int | None) -> Signature:
    """The signature of a tool call that failed.

    `command_text` is the shell text for shell tools, else '' (a path does not identify a failure). Never raises.
    """
    program = (parse_command(command_text).program if command_text else "") or tool_name
    lines = _lines(output_text)
    error_class, line = _significant(lines)
    if not error_class:
        error_class = f"exit_{exit_code}" if exit_code else "tool_error"
    shown = normalise_line(line)[:MAX_LINE_CHARS]
    return Signature(_hash(program, error_class, shown), program, error_class, shown)


def signature_of(call: ToolCall, output_text: str, exit_code: int | None) -> Signature:
    """`failure_signature` of a tool call: the shell text is taken from whichever argument the agent's tool uses."""
    return failure_signature(call.name, shell_text(call) or "", output_text, exit_code)


def _hash(*words: str) -> str:
    state = hashlib.blake2b(digest_size=8, person=b"spanlore-failure")
    for word in words:
        data = word.encode("utf-8", "replace")
        state.update(len(data).to_bytes(4, "big") + data)
    return state.hexdigest()


def _lines(output: str) -> list[str]:
    if len(output) > MAX_SCAN_CHARS:
        half = MAX_SCAN_CHARS // 2
        output = f"{output[:half]}\n{output[-half:]}"
    output = _EXIT_PREFIX.sub("", _REMINDERS.sub("", plain(output)).lstrip())
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    return lines if len(lines) <= _MAX_LINES else lines[: _MAX_LINES // 2] + lines[-_MAX_LINES // 2 :]


def _significant(lines: list[str]) -> tuple[str, str]:
    """(error class, line): an exception's last line, else the most telling line, else the first that is not noise."""
    thrown = _exception(lines)
    if thrown is not None:
        return thrown
    classified = _first_classified(line for line in lines if _MARKED.search(line))
    if classified is None:
        classified = _first_classified(lines)
    if classified is not None:
        return classified
    marked = next((line for line in lines if _MARKED.search(line) and not _NOISE.search(line)), None)
    if marked is not None:
        return "", marked
    return "", next((line for line in lines if not _NOISE.search(line)), "")


def _exception(lines: list[str]) -> tuple[str, str] | None:
    """Of a traceback, the line that names the exception."""
    started = next((i for i, line in enumerate(lines) if line.strip() == _TRACEBACK), None)
    if started is None:
        return None
    for line in reversed(lines[started:]):
        found = _EXCEPTION.match(line)
        if found:
            return found[1].rpartition(".")[2], line
    return None


def _first_classified(lines: Iterable[str]) -> tuple[str, str] | None:
    for line in lines:
        if _NOISE.search(line) and not line.lower().startswith("usage"):
            continue
        name = classify(line)
        if name:
            return name, line
        found = _EXCEPTION.match(line)
        if found:
            return found[1].rpartition(".")[2], line
    return None
