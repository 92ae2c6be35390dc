"""Names for what went wrong, and the words that tell them.

The table is ordered by how exact a match is, not by how often it happens: the first that matches a line names it. Every
pattern is matched without regard to case, and only against output that is known to belong to a failure.
"""

from __future__ import annotations

import re
from typing import Final

_PATTERNS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "edit_no_match",
        (
            r"string to replace not found",
            r"no match(?:es)? (?:was |were )?found for",
            r"hunk(?:s)? failed",
            r"could not find .{0,40}in the file",
            r"could not find (?:the )?exact text",
            r"old_?str(?:ing)? (?:was )?not found",
            r"\b0 occurrences found",
            r"verification failed",
        ),
    ),
    (
        "edit_not_unique",
        (
            r"found \d+ matches of the string",
            r"found multiple matches",
            r"found \d+ occurrences of the text",
            r"expected 1 occurrence",
            r"is not unique",
        ),
    ),
    (
        "file_not_read",
        (
            r"has not been read yet",
            r"must (?:first )?(?:be )?read (?:the |this )?(?:file|it)",
            r"must be read (?:first|before)",
        ),
    ),
    (
        "file_changed",
        (
            r"modified since (?:it was )?(?:last )?read",
            r"unexpectedly modified",
        ),
    ),
    (
        "input_invalid",
        (
            r"inputvalidationerror",
            r"invalid (?:tool )?(?:input|arguments)",
        ),
    ),
    (
        "unknown_tool",
        (
            r"unknown skill",
            r"no such tool",
        ),
    ),
    (
        "too_large",
        (
            r"exceeds maximum",
            r"file too large",
        ),
    ),
    (
        "command_not_found",
        (
            r"command not found",
            r"not recognized as an internal",
            r": not found$",
            r"executable (?:file )?not found",
        ),
    ),
    (
        "module_not_found",
        (
            r"no module named",
            r"cannot find module",
            r"cannot find package",
            r"module not found",
            r"can't resolve",
            r"could not resolve \S+ from",
            r"no required module provides",
        ),
    ),
    (
        "unknown_option",
        (
            r"(?:unknown|unrecognized|unrecognised|illegal|invalid|unexpected) (?:long )?(?:option|flag|argument)s?\b",
            r"no such option",
        ),
    ),
    (
        "unknown_command",
        (
            r"(?:unknown|unrecognized|unrecognised|invalid|no such) (?:sub)?command",
            r"script not found",
            r"missing script",
            r"no rule to make target",
            r"is not a \S+ command",
            r"no task named",
            r"couldn't find a script",
        ),
    ),
    (
        "is_directory",
        (
            r"is a directory",
            r"eisdir",
            r"illegal operation on a directory",
        ),
    ),
    (
        "no_such_file",
        (
            r"no such file or directory",
            r"enoent",
            r"file does not exist",
            r"path does not exist",
            r"cannot access",
            r"does not exist",
            r"did not match any file",
            r"no matches found:",
            r"file not found",
        ),
    ),
    (
        "permission_denied",
        (
            r"permission denied",
            r"operation not permitted",
            r"eacces",
            r"eperm",
            r"access is denied",
            r"read-only file system",
            r"not permitted",
        ),
    ),
    (
        "address_in_use",
        (
            r"address already in use",
            r"eaddrinuse",
            r"port \S+ is (?:already )?(?:in use|allocated)",
        ),
    ),
    (
        "connection_refused",
        (
            r"connection refused",
            r"econnrefused",
            r"could not connect",
            r"failed to connect",
        ),
    ),
    (
        "network",
        (
            r"could not resolve host",
            r"name or service not known",
            r"getaddrinfo",
            r"network is unreachable",
            r"enotfound",
            r"connection (?:reset|timed out)",
            r"tls handshake",
            r"certificate verif",
        ),
    ),
    (
        "authentication",
        (
            r"authentication failed",
            r"unauthorized",
            r"(?:http|status|error|code|returned)[ :=/.0-9]*\b40[13]\b",
            r"\b40[13] (?:client error|forbidden)",
            r"not logged in",
            r"bad credentials",
            r"could not read username",
        ),
    ),
    (
        "version_mismatch",
        (
            r"unsupported (?:engine|version)",
            r"requires (?:a )?(?:python|node|go|ruby|java)\b",
            r"no version is set",
            r"version mismatch",
            r"incompatible",
        ),
    ),
    (
        "dependency_conflict",
        (
            r"conflict(?:ing)? dependenc",
            r"could not find a version",
            r"no matching distribution",
            r"unable to resolve dependency",
            r"eresolve",
        ),
    ),
    (
        "out_of_memory",
        (
            r"out of memory",
            r"cannot allocate memory",
            r"heap out of",
        ),
    ),
    (
        "disk_full",
        (
            r"no space left on device",
            r"enospc",
        ),
    ),
    (
        "merge_conflict",
        (
            r"merge conflict",
            r"conflict \(",
            r"could not apply",
            r"needs merge",
            r"automatic merge failed",
        ),
    ),
    (
        "git_rejected",
        (
            r"\[rejected\]",
            r"non-fast-forward",
            r"failed to push",
            r"protected branch",
        ),
    ),
    (
        "not_a_repository",
        (r"not a git repository",),
    ),
    (
        "ignored_path",
        (r"ignored by one of your \.gitignore",),
    ),
    (
        "syntax_error",
        (
            r"syntax ?error",
            r"parse error",
            r"unexpected token",
            r"unexpected end of",
            r"unterminated",
        ),
    ),
    (
        "type_error",
        (
            r"\berror ts\d+",
            r"type ?error",
            r"incompatible type",
            r"is not assignable",
            r"undefined: ",
            r"undeclared name",
            r"cannot find name",
            r"cannot use .{1,80} as ",
        ),
    ),
    (
        "format",
        (
            r"would (?:reformat|have printed)",
            r"not formatted",
            r"formatting issues",
            r"would be reformatted",
        ),
    ),
    (
        "assertion",
        (
            r"assertion ?(?:error|failed)",
            r"expected .{1,200}(?:got|received|but)",
            r"^e\s+assert",
        ),
    ),
    (
        "test_failure",
        (
            r"--- fail:",
            r"^fail(?:ed)?\b",
            r"\b[1-9]\d* (?:tests? )?fail(?:ed|ures?)?\b",
            r"tests? failed",
            r"✗",
            r"✘",
        ),
    ),
    (
        "lint",
        (
            r"\blint/",
            r"\d+ (?:issues?|problems?)\b",
            r"[a-z]+/[a-z-]+ +━",
            r"\(\w+\)$",
        ),
    ),
    (
        "usage",
        (
            r"^usage:",
            r"invalid usage",
            r"missing (?:required )?(?:argument|option|parameter)",
            r"required (?:argument|option|flag)",
            r"too (?:few|many) arguments",
            r"accepts \d+ arg",
        ),
    ),
)

CLASSES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (name, re.compile("|".join(patterns), re.I)) for name, patterns in _PATTERNS
)
_ANY: Final = re.compile("|".join(pattern for _, patterns in _PATTERNS for pattern in patterns), re.I)


def classify(line: str) -> str:
    """The class of a line of output, '' when nothing in it is known."""
    if not _ANY.search(line):
        return ""
    return next((name for name, pattern in CLASSES if pattern.search(line)), "")
