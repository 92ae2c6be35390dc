"""Whether a program's output complains that the program failed, where nobody tells how it ended.

Only forms in which programs speak of themselves: the convention `program: what is wrong` (GNU coding standards,
"Formatting Error Messages"; argparse, Go and git keep to it, too), an error as the first thing that is said, what
task runners and compilers close with, and exceptions that nobody caught. Programs that show other texts (`cat`,
`git log`, `kubectl logs`) can only complain in their own name, since anything may stand in what they show.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from spanlore.harness.benign_exits import READERS
from spanlore.signature.command import Command, program_name

_SHELLS: Final = frozenset({"bash", "sh", "zsh", "dash", "(eval)", "/bin/bash", "/bin/sh", "/bin/zsh"})
_SHOWING: Final = READERS | {
    "python", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "deno", "tsx", "curl", "wget",
    "journalctl", "dmesg", "bat", "xargs", "tee", "watch", "ssh", "psql", "sqlite3", "mysql", "redis-cli", "aws",
}  # fmt: skip
"""What these print is what they were asked for."""
_INTERPRETERS: Final = frozenset({"python", "node", "ruby", "perl", "php", "deno", "tsx"})
_SHOWING_VERBS: Final = {
    "git": frozenset({"log", "show", "diff", "blame", "grep", "reflog", "stash", "cat-file"}),
    "docker": frozenset({"logs", "exec", "run", "inspect"}),
    "kubectl": frozenset({"logs", "exec", "describe"}),
    "podman": frozenset({"logs", "exec", "run", "inspect"}),
    "gh": frozenset({"view", "list", "api", "diff", "search", "checks"}),
}
_NAMED: Final = re.compile(
    r"^(?P<who>\(eval\)|[\w./@+-]{1,80}?)(?::(?: line)? ?\d+)*: (?:(?:-c|line \d+): )*"
    r"(?!(?:warn|note\b|info\b|debug\b|hint\b|\w+ing\b|(?!failed)\w+ed\b)|(?:.* )?warning:|"
    r"(?:[A-Z]:)?[\w./-]+: (?:OK|ok|passed)\b)\S"
)
"""`program: …`, unless it only tells what it is doing."""
_SCRIPT_LINE: Final = re.compile(r"^\S+\.(?:sh|bash|zsh): line \d+: ")
_ERROR: Final = re.compile(
    r"^(?:\[[\w:.-]+\] )?(?:[×✗✘✖❌🔴] ?)?(?i:error|fatal|panic|fatal error|failed|failure|abort(?:ed)?|critical)"
    r"(?:\[\w+\])?(?:: | - |! )(?!0\b)\S|^Error from server\b|^(?:[a-z][\w.-]* )?ERROR (?!0\b)\S|^error [A-Z]",
)
_CLOSING: Final = re.compile(
    r"\b(?:exited|exits|failed|finished|terminated) with (?:a )?(?:non-zero )?(?:exit )?(?:code|status)(?: of)?:? ?"
    r"-?[1-9]|\bfailed \((?:exit )?code:? [1-9]|\bexit status [1-9]|"
    r"^FAILED\b|^\[[\w:.-]+\] ERROR task failed|\bBUILD FAILED\b|^FAILURE: |^FAIL\b|"
    r"^Found [1-9]\d* (?:\w+ )?errors?\b|^\W*[1-9]\d* (?:errors?|issues?|problems?)\b(?:[,:.! (]|$)|"
    r"^\[ERROR\] |^npm (?:ERR!|error) |^\w+ aborted!$|^\s*ELIFECYCLE\b|^error Command failed|^\* What went wrong|"
    r"^(?:Oh no! )?.{0,40}\b[1-9]\d* files? would be reformatted\b|^would reformat |"
    r"^\W*[1-9]\d* (?:tests? )?fail(?:ed|ing|ures?)\b|^Tests?:? .*\b[1-9]\d* failed\b|"
    r"^\W*(?:Compilation|Build|Deployment|Installation|Migration|Command|Task|Job|Linting|Type ?check\w*) failed\b",
    re.I,
)
_DIAGNOSED: Final = re.compile(
    r"^(?:\S+[:(]\d+(?:[:,]\d+)?\)?:? )(?:fatal error|error|syntax error)\b|"
    r"^.{0,200}: error [A-Z]{2,}\d+: |^# [\w./-]+(?: \[[\w./-]+\])?$"
)
"""A compiler's line; Go's name of the package that does not compile."""
_UNCAUGHT: Final = re.compile(
    r"^Exception in thread \"|^panic: |^goroutine \d+ \[running\]|^thread '.+' panicked at|^Unhandled (?:exception|"
    r"rejection)|^Uncaught \w*(?:Error|Exception)|^Node\.js v\d+\.\d+|^PHP (?:Fatal|Parse) error: |"
    r"^node:internal/|^\S+\.rb:\d+:in |^(?:\S+ )?at .+ line \d+\.$"
)
_WORDED: Final = re.compile(
    r"\b(?:not found|no such|cannot|can't|can ?not|could not|couldn't|unable to|denied|unrecognized|invalid|illegal|"
    r"not (?:allowed|permitted|supported|installed|recognized|a valid|defined)|unsupported|is required|refused|"
    r"unknown (?:\w+ )?(?:flag|option|command|subcommand|argument|field|task|target|property|shorthand|key|host)|"
    r"missing (?:required|argument|script|file|option|key|parameter)|did not match any|"
    r"do(?: not|n't) know how|does(?: not|n't) exist|unexpected|failed to|must (?:be|have|not|first))\b",
    re.I,
)
"""Words that complain, in an output that says little else."""
_THROWN: Final = re.compile(r"^(?:Uncaught )?(?:[\w$]+[.:]{1,2})*\w*(?:Error|Exception|NotFound)(?: \[\w+\])?: \S")
_NAMED_ERROR: Final = re.compile(r"^(?:Uncaught )?(?:[\w$]+[.:]{1,2})*\w+(?:Error|Exception): \S")
_IN_FILE: Final = re.compile(r'^\s*File ".+", line \d+|^\s+at \S')
"""Where it was thrown, as Python and JavaScript say."""
_BRIEF_LINES: Final = 3
_FEW_LINES: Final = 12
_CLOSING_LINES: Final = 6


_REFUSING: Final = re.compile(
    r"\s*(?:(?P<own><(?:tool_use_)?error>|no replacement was performed|your (?:proposed )?edit has introduced|"
    r"\w+ verification failed|string to replace not found|old_?str(?:ing)?\b.{0,80}not found|tool execution failed|"
    r"the tool execution failed|\w*ValidationError: )|"
    r"(?:error|failed)\b ?(?:[:!]|(?:executing|running|reading|writing|editing|while|in)\b)|failed to \w|"
    r"(?:the )?tool (?:call |use )?failed|\w*(?:Exception|Error): |"
    r"invalid (?:arguments?|parameters?|input|[`'\"]\w+[`'\"])|missing (?:value for )?required|"
    r"(?:the )?(?:file|path|directory) .{0,300}?\b(?:does not exist|not found|unexpectedly modified|modified since)|"
    r"text (?:was )?not found|could not find|no file open|no match(?:es)? found for|ENOENT|EISDIR|EACCES|"
    r"unknown tool|no such (?:tool|file)|tool .{1,80} (?:is )?(?:not found|not available|does not exist))",
    re.I,
)
_REFUSAL_LINES: Final = 15
"""A longer text that begins with words that anybody may use is a file's."""


def refuses(text: str) -> bool:
    """Whether a tool that is no shell says that it did not do what it was called for."""
    found = _REFUSING.match(text)
    return found is not None and (found["own"] is not None or text.count("\n") <= _REFUSAL_LINES)


def complains(command: Command, lines: list[str]) -> bool:
    """Whether what is printed says that the command failed. `lines`: no empty ones, no colours."""
    if command.is_guarded or not lines:
        return False
    if _in_own_name(command, lines):
        return True
    if not _is_quoting(command) and _is_thrown(lines):
        return True
    if _is_showing(command):
        return False
    first, last = lines[0], lines[-_CLOSING_LINES:]
    if _ERROR.match(first) or any(map(_ERROR.match, lines[-_BRIEF_LINES:] if len(lines) > _FEW_LINES else lines)):
        return True
    if len(lines) <= _BRIEF_LINES and _WORDED.search(first):
        return True
    if any(map(_UNCAUGHT.match, lines[:3])) or any(map(_UNCAUGHT.match, last)):
        return True
    return any(map(_CLOSING.search, [*lines[:2], *last])) or any(map(_DIAGNOSED.match, lines[:_FEW_LINES]))


def _is_thrown(lines: list[str]) -> bool:
    """Whether an exception ended it: a short output begins or ends with it, or it comes with the place of the throw."""
    if _UNCAUGHT.match(lines[0]) or (_IN_FILE.match(lines[0]) and _THROWN.match(lines[-1])):
        return True
    if len(lines) <= _BRIEF_LINES and (_NAMED_ERROR.match(lines[0]) or _NAMED_ERROR.match(lines[-1])):
        return True
    tail = lines[-_FEW_LINES:]
    return any(_THROWN.match(one) and _IN_FILE.match(other) for one, other in pairwise(tail))


def _is_quoting(command: Command) -> bool:
    """Whether it shows texts of others, which may have anything in them."""
    return bool(set(command.programs) & READERS) or (_is_showing(command) and command.program not in _INTERPRETERS)


def _in_own_name(command: Command, lines: list[str]) -> bool:
    """Whether the program, or the shell that was to start it, says what is wrong: in the first line, or the last."""
    wrappers = {word for wrapper in command.wrappers for word in wrapper.split()[:1]}
    names = {*command.programs, *wrappers, command.program, *command.argv[:1], *command.decider[:1]}
    for line in {lines[0], lines[-1]}:
        found = _NAMED.match(line)
        if found is None:
            continue
        who = found["who"]
        if who in _SHELLS or who in names or program_name(who) in names or _SCRIPT_LINE.match(line):
            return True
    return False


def _is_showing(command: Command) -> bool:
    verbs = _SHOWING_VERBS.get(command.program)
    if verbs is not None and any(word in verbs for word in command.argv[1:3]):
        return True
    return command.program in _SHOWING or command.program == ""
