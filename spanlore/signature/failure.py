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
from spanlore.signature.normalise import normalise_line

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


_CLASSES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile(pattern, re.I))
    for name, pattern in (
        ("edit_no_match", r"string to replace not found|no match(?:es)? (?:was |were )?found for|hunk(?:s)? failed|could not find .{0,40}in the file|verification failed"),
        ("edit_not_unique", r"found \d+ matches of the string|is not unique"),
        ("file_not_read", r"has not been read yet"),
        ("file_changed", r"modified since read|unexpectedly modified"),
        ("input_invalid", r"inputvalidationerror|invalid (?:tool )?(?:input|arguments)"),
        ("unknown_tool", r"unknown skill|no such tool"),
        ("too_large", r"exceeds maximum|file too large"),
        ("command_not_found", r"command not found|not recognized as an internal|: not found$|executable (?:file )?not found"),
        ("module_not_found", r"no module named|cannot find module|cannot find package|module not found|can't resolve|could not resolve \S+ from|no required module provides"),
        ("unknown_option", r"(?:unknown|unrecognized|unrecognised|illegal|invalid|unexpected) (?:long )?(?:option|flag|argument)s?\b|no such option"),
        ("unknown_command", r"(?:unknown|unrecognized|unrecognised|invalid|no such) (?:sub)?command|script not found|missing script|no rule to make target|is not a \S+ command|no task named|couldn't find a script"),
        ("is_directory", r"is a directory|eisdir|illegal operation on a directory"),
        ("no_such_file", r"no such file or directory|enoent|file does not exist|path does not exist|cannot access|does not exist|did not match any file|no matches found:|file not found"),
        ("permission_denied", r"permission denied|operation not permitted|eacces|eperm|access is denied|read-only file system|not permitted"),
        ("address_in_use", r"address already in use|eaddrinuse|port \S+ is (?:already )?(?:in use|allocated)"),
        ("connection_refused", r"connection refused|econnrefused|could not connect|failed to connect"),
        ("network", r"could not resolve host|name or service not known|getaddrinfo|network is unreachable|enotfound|connection (?:reset|timed out)|tls handshake|certificate verif"),
        ("authentication", r"authentication failed|unauthorized|\b401\b|\b403\b|not logged in|bad credentials|could not read username"),
        ("version_mismatch", r"unsupported (?:engine|version)|requires (?:a )?(?:python|node|go|ruby|java)\b|no version is set|version mismatch|incompatible"),
        ("dependency_conflict", r"conflict(?:ing)? dependenc|could not find a version|no matching distribution|unable to resolve dependency|eresolve"),
        ("out_of_memory", r"out of memory|cannot allocate memory|heap out of"),
        ("disk_full", r"no space left on device|enospc"),
        ("merge_conflict", r"merge conflict|conflict \(|could not apply|needs merge|automatic merge failed"),
        ("git_rejected", r"\[rejected\]|non-fast-forward|failed to push|protected branch"),
        ("not_a_repository", r"not a git repository"),
        ("ignored_path", r"ignored by one of your \.gitignore"),
        ("syntax_error", r"syntax ?error|parse error|unexpected token|unexpected end of|unterminated"),
        ("type_error", r"\berror ts\d+|type ?error|incompatible type|is not assignable|undefined: |undeclared name|cannot find name|cannot use .{1,80} as "),
        ("format", r"would (?:reformat|have printed)|not formatted|formatting issues|would be reformatted"),
        ("assertion", r"assertion ?(?:error|failed)|expected .{1,200}(?:got|received|but)|^e\s+assert"),
        ("test_failure", r"--- fail:|^fail(?:ed)?\b|\b[1-9]\d* (?:tests? )?fail(?:ed|ures?)?\b|tests? failed|✗|✘"),
        ("lint", r"\blint/|\d+ (?:issues?|problems?)\b|[a-z]+/[a-z-]+ +━|\(\w+\)$"),
        ("usage", r"^usage:|invalid usage|missing (?:required )?(?:argument|option|parameter)|required (?:argument|option|flag)|too (?:few|many) arguments|accepts \d+ arg"),
    )
)  # fmt: skip
"""Error class and what tells it, most telling first. The table is ordered by how exact a match is, not by frequency."""

_EXCEPTION = re.compile(r"^\s*(?:E\s+)?(?:Uncaught |Caused by: |panic: )?((?:\w+\.)*\w*(?:Error|Exception|Warning|Interrupt|Exit))(?::|$)")
_TRACEBACK: Final = "Traceback (most recent call last):"
_MARKED = re.compile(
    r"^\W{0,3}\s*(?:\S{1,60}\s)?(?:error|fatal|failure|failed|fail|panic|exception|abort(?:ed)?|critical|err!)\b[:!\[ (]"
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
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


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
    output = _EXIT_PREFIX.sub("", _REMINDERS.sub("", _ANSI.sub("", output)).lstrip())
    return [line.rstrip() for line in output.splitlines() if line.strip()][:_MAX_LINES]


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
        for name, pattern in _CLASSES:
            if pattern.search(line):
                return name, line
        found = _EXCEPTION.match(line)
        if found:
            return found[1].rpartition(".")[2], line
    return None
