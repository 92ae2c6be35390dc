"""How a tool call in a transcript ended. The proxy judges this at capture; here it is judged again, lightly, because
transcripts come without it and the extractor may not import the proxy."""

from __future__ import annotations

import re
from dataclasses import dataclass

from spanlore.spans.place import Outcome

_EXIT = re.compile(
    r"^(?:Exit code |Error: Exit code |.*Process exited with code |<returncode>|"
    r"(?:.*\n)*?(?:Command|Process) exited with (?:exit )?code )(-?\d+)"
)
_TAIL_EXIT = re.compile(r"(?:Command|Process) exited with (?:exit )?code (-?\d+)\s*$")
_CODEX_EXIT = re.compile(
    r"^(?:Chunk ID:.*\n)?(?:Wall time:.*\n)?(?:Process exited with code |Exit code: )(-?\d+)", re.M
)
_REJECTED = ("The user doesn't want to proceed", "The user doesn't want to take this action", "User rejected")
_CASCADE = ("Sibling tool call errored", "Cancelled: parallel tool call")
_ABORTED = ("[Request interrupted", "Command aborted", "Operation aborted", "aborted by user")
# Exit 1 of these says "no" or "different", which is an answer.
_ANSWERS = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "ack", "diff", "cmp", "test", "[", "pgrep", "which", "type"}
)
# At the end of a pipe these succeed whatever happened before them.
_HIDERS = frozenset({"head", "tail", "tee", "cat", "wc", "sort", "sed", "awk", "cut", "uniq", "tr", "less", "jq"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome, why, and the exit code where one was told."""

    outcome: Outcome
    reason: str = ""
    exit_code: int | None = None


def exit_code_of(text: str) -> int | None:
    """The exit code a harness wrote around a command's output, or None."""
    head = text[:400]
    for pattern, where in ((_EXIT, head), (_CODEX_EXIT, head), (_TAIL_EXIT, text[-200:])):
        found = pattern.search(where)
        if found:
            return int(found[1])
    return None


def judge(text: str, is_error: bool | None, last_program: str = "", is_piped: bool = False) -> Verdict:
    """The verdict on a result text. `last_program` is the program whose exit code the shell reports, `is_piped` whether
    it reads another one's output."""
    flat = text.replace("<tool_use_error>", "").lstrip()
    if flat.startswith(_REJECTED):
        return Verdict(Outcome.REJECTED, "user_rejected")
    if flat.startswith(_CASCADE):
        return Verdict(Outcome.UNKNOWN, "cascade")
    if is_error and any(mark in flat[-200:] or flat.startswith(mark) for mark in _ABORTED):
        return Verdict(Outcome.UNKNOWN, "interrupted")
    if flat.startswith("<exception>") or "timed out after" in flat[-200:]:
        return Verdict(Outcome.UNKNOWN, "timeout")
    exit_code = exit_code_of(text)
    if exit_code == 1 and last_program in _ANSWERS:
        return Verdict(Outcome.SUCCESS, "benign_exit", exit_code)
    if exit_code not in (None, 0):
        return Verdict(Outcome.UNKNOWN, "timeout", exit_code) if exit_code == -1 else _failure("exit_code", exit_code)
    if is_error or flat.startswith(("apply_patch verification failed", "Your proposed edit has introduced new syntax")):
        return _failure("is_error", exit_code)
    if is_piped and last_program in _HIDERS:
        return Verdict(Outcome.UNKNOWN, "pipeline", exit_code)
    return Verdict(Outcome.SUCCESS, "", exit_code)


def _failure(reason: str, exit_code: int | None) -> Verdict:
    return Verdict(Outcome.FAILURE, reason, exit_code)
