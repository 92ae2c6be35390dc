"""How a tool call ended: success, failure, unknown or rejected.

Judged by the wire's own flag, by exit codes as each agent prints them, and by what an exit code means for the command
at hand (`benign_exits`). Where there is neither, by what the program says of its own end (`proof`, `complaint`), and
never by words such as "error" alone: "0 errors" is a success, and a command that failed silently behind a pipe is not
known to be one. What nobody can know is UNKNOWN, and never counted as either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.harness.benign_exits import READERS, STATUS_HIDERS, is_benign
from spanlore.harness.complaint import refuses
from spanlore.harness.human import INTERRUPTED, STOPPED_WHILE_RUNNING, is_refusal
from spanlore.harness.printed import Printed, read_printed, unwrapped
from spanlore.harness.proof import proven
from spanlore.signature.command import Command, parse_command, shell_text
from spanlore.spans.place import Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended, why that is known, and its exit code where the wire gave one."""

    outcome: Outcome
    reason: str = ""
    exit_code: int | None = None


_FLAGGING: Final = frozenset({"claude-code", "gemini-cli"})
"""Agents that set `is_error` on every failed result, so that its absence means success. (pi does where it can, and says
so by `false`; OpenAI's APIs have no flag.)"""
_CLAUDE_EXIT = re.compile(r"\A(?:Error: )?Exit code (-?\d+)(?:\n|\Z)")
_GEMINI_EXIT = re.compile(
    r"(?:^|\n)Exit Code: (-?\d+)(?=(?:\n(?:Signal|Background PIDs|Process Group PGID):[^\n]*)*\s*\Z)"
)
"""The tool's own line stands at the end; the program may have printed such a line before it."""
_SILENT_SUCCESS: Final = frozenset({"gemini-cli", "pi", "continue", "gptme", "kimi-code", "grok-cli"})
"""Agents that say nothing where a command succeeded."""
_TIMED_OUT = re.compile(
    r"\bCommand timed out after |\btimed out after \d|<error>Command timed out|Command was aborted|"
    r"\bcommand running in (?:the )?background\b|"
    r"\ACommand was automatically cancelled because it exceeded the timeout",
    re.I,
)
_BACKGROUND = re.compile(
    r"\A(?:Command running in background with ID|Async agent launched|Command was (?:manually )?"
    r"(?:moved to|running in) (?:the )?background|Command moved to background|Command did not complete within|"
    r"Agent is running)"
)
_CASCADE = re.compile(r"\A(?:<tool_use_error>)?(?:Sibling tool call errored|Cancelled: parallel tool call)")
_NOT_RUN = re.compile(
    r"\A(?:\[Tool call (?:skipped|not completed|result not in this copy)|\[Old tool result content cleared)"
)
_STOPPED = re.compile(
    r"\A(?:\[Tool call (?:did not complete|interrupted)|\[Agent call interrupted|\[This turn ended|"
    r"A safety monitor blocked this turn|aborted(?: by user after [\d.]+s)?\s*\Z|"
    r"Wall time: [\d.]+ seconds\naborted by user|Command was cancelled by user|"
    r"\[Operation Cancelled\](?! Reason: User (?:denied|did not allow)))"
)
_DENIED = re.compile(
    r"\A(?:Permission (?:for|to) .{0,200}? (?:has been )?denied|User denied permission|"
    r"Claude requested permissions? to|This tool call was refused|Error: Permission denied by|"
    r"exec_command .{0,80}rejected|(?:exec(?:_command)?|patch|apply_patch|shell|command)\b.{0,200}\brejected by user|"
    r"rejected by user|The user (?:rejected permission to use|has specified a rule which prevents you from using) this|"
    r"\w+:?\w* hook (?:error|blocking error)|Operation stopped by hook|"
    r"\[Request denied|\[Operation Cancelled\] Reason: User (?:denied|did not allow)|"
    r"Tool execution (?:for .{0,80} )?denied by)",
    re.S,
)
_NOT_JUDGED_SAFE = re.compile(
    r"\A(?:Auto mode (?:is |classifier )?(?:un|not\b|could not|couldn't|cannot|can't|did not|does not|fell back)|"
    r"Auto mode's safety check|[^\n]{1,300}\bauto mode cannot determine the safety of|"
    r"[^\n]{1,200} was not run: [^\n]{0,80}auto mode's safety check|The API told auto mode's safety classifier)"
)
"""Claude Code's automatic permission check said no, or had no answer (2.1.332). The command never ran."""
_SHELL_COMPLAINT = re.compile(
    r"^(?:\S*(?:bash|zsh|sh)|\(eval\))?:?(?:line )?\d*:? ?cd:? ?(?:\d+:)?.*(?:no such file|not a directory)"
    r"|command not found|^\(eval\):\d+: ",
    re.I | re.M,
)
_INTERRUPTED_EXITS: Final = frozenset({130, 137, 143})
_TIMEOUT_EXIT: Final = 124


def judge(call: ToolCall, result: ToolResult, harness: str) -> Verdict:
    """The verdict on one answered call. Pure, never raises."""
    text = unwrapped(result.response)
    if text != result.response:
        result = replace(result, response=text)
    if result.is_error is not False:
        special = _not_the_tools_doing(result)
        if special is not None:
            return special
    shell = shell_text(call)
    printed = read_printed(text, harness, is_shell=shell is not None)
    if (odd := _as_printed(printed)) is not None:
        is_quiet = shell is not None and printed.has_failed and not printed.output.strip()
        # Without a code nobody knows whether it was that of `grep` that found nothing.
        return Verdict(Outcome.UNKNOWN, "no_status") if is_quiet and is_benign(parse_command(shell or ""), 1) else odd
    exit_code = _exit_code(text, result.is_error, harness) if printed.exit_code is None else printed.exit_code
    if printed.output != text:
        result = replace(result, response=printed.output)
    if shell is not None:
        return _judge_shell(parse_command(shell), result, exit_code, harness)
    if result.is_error:
        return Verdict(Outcome.FAILURE, "tool_error" if text.startswith("<tool_use_error>") else "is_error", exit_code)
    if _BACKGROUND.match(text):
        return Verdict(Outcome.UNKNOWN, "background")
    if exit_code:
        return Verdict(Outcome.FAILURE, "exit_code", exit_code)
    if result.is_error is False or harness in _FLAGGING or exit_code == 0:
        return Verdict(Outcome.SUCCESS, "", exit_code)
    return Verdict(Outcome.FAILURE, "output") if refuses(text) else Verdict(Outcome.UNKNOWN, "no_status")


def _not_the_tools_doing(result: ToolResult) -> Verdict | None:
    """Refused, cancelled with its siblings, never run, or stopped by the user."""
    text = result.response
    if _CASCADE.match(text):
        return Verdict(Outcome.UNKNOWN, "cascade")
    if is_refusal(result):
        return Verdict(Outcome.REJECTED, "user_rejected")
    if text.startswith(INTERRUPTED) or STOPPED_WHILE_RUNNING in text[:1000] or _STOPPED.match(text):
        return Verdict(Outcome.UNKNOWN, "interrupted")
    if _NOT_RUN.match(text):
        return Verdict(Outcome.UNKNOWN, "not_run")
    if _DENIED.match(text) or _NOT_JUDGED_SAFE.match(text):
        return Verdict(Outcome.REJECTED, "permission_denied")
    return None


def _as_printed(printed: Printed) -> Verdict | None:
    """What the agent itself says that is neither an exit code nor output."""
    if printed.running:
        return Verdict(Outcome.UNKNOWN, "running")
    if printed.is_mixed:
        return Verdict(Outcome.UNKNOWN, "mixed")
    return Verdict(Outcome.FAILURE, "tool_error") if printed.has_failed else None


def _exit_code(text: str, is_error: bool | None, harness: str) -> int | None:
    found = _CLAUDE_EXIT.match(text) if is_error is not False else None
    if found is None and harness == "gemini-cli":
        found = _GEMINI_EXIT.search(text)
    return int(found[1]) if found is not None and len(found[1]) < 8 else None


def _judge_shell(command: Command, result: ToolResult, exit_code: int | None, harness: str) -> Verdict:
    text = result.response
    if exit_code is None:
        if result.is_error:
            return Verdict(Outcome.UNKNOWN, "timeout") if _TIMED_OUT.search(text[:2000]) else _flagged(text)
        if _BACKGROUND.match(text):
            return Verdict(Outcome.UNKNOWN, "background")
        if result.is_error is None and harness not in _FLAGGING and harness not in _SILENT_SUCCESS:
            return _by_output(command, text)
        if _TIMED_OUT.match(text) or _TIMED_OUT.search(text[-200:]):
            return Verdict(Outcome.UNKNOWN, "timeout")
        exit_code = 0 if harness in _SILENT_SUCCESS else None
    if not exit_code:
        return _succeeded(command, exit_code)
    if INTERRUPTED in text[:400]:
        return Verdict(Outcome.UNKNOWN, "interrupted", exit_code)
    if exit_code == _TIMEOUT_EXIT or _TIMED_OUT.search(text if exit_code < 0 else text[:400]):
        return Verdict(Outcome.UNKNOWN, "timeout", exit_code)
    if exit_code in _INTERRUPTED_EXITS:
        return Verdict(Outcome.UNKNOWN, "interrupted", exit_code)
    return _failed(command, exit_code, text)


def _by_output(command: Command, text: str) -> Verdict:
    """Where nobody tells how it ended: what the program's own last words prove, if anything."""
    proof = proven(command, text)
    if proof is None:
        return Verdict(Outcome.UNKNOWN, "no_status")
    return Verdict(Outcome.SUCCESS if proof else Outcome.FAILURE, "output")


def _flagged(text: str) -> Verdict:
    return Verdict(Outcome.FAILURE, "tool_error" if text.startswith("<tool_use_error>") else "is_error")


def _succeeded(command: Command, exit_code: int | None) -> Verdict:
    """Exit 0: a success, unless the status belongs to something else than the program."""
    if command.is_guarded and command.program not in READERS:
        return Verdict(Outcome.UNKNOWN, "guarded", exit_code)
    hider = command.decider[0] if command.decider else ""
    if command.decider_feeds_on and hider in STATUS_HIDERS and command.decider_feeds_on not in READERS:
        return Verdict(Outcome.UNKNOWN, "pipeline", exit_code)
    return Verdict(Outcome.SUCCESS, "", exit_code)


def _failed(command: Command, exit_code: int, text: str) -> Verdict:
    if is_benign(command, exit_code) and not _SHELL_COMPLAINT.search(text[:2000]):
        if command.decider_feeds_on and command.decider_feeds_on not in READERS:
            return Verdict(Outcome.UNKNOWN, "pipeline", exit_code)
        return Verdict(Outcome.SUCCESS, "benign_exit", exit_code)
    if exit_code == 141:  # SIGPIPE: `head` had read enough
        return Verdict(Outcome.UNKNOWN, "pipeline", exit_code)
    return Verdict(Outcome.FAILURE, "exit_code", exit_code)
