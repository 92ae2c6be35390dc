"""Whether one later call is the answer to one failing call, and by which rule. One pair at a time, no search.

Each rule asks for a positive reason that the two calls are about the same thing; "it was the next success" is none
(on the labelled sessions it is right in 72 of 157 cases).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Final

from spanlore.spans.place import Outcome
from spanlore_extractor.mining.answer import (
    MASKED,
    MAX_LISTINGS,
    MIN_TELLING_CHARS,
    NOT_FOUND,
    DeltaType,
    Match,
    is_success,
)
from spanlore_extractor.mining.file_pairing import edit_likeness, match_file_tool
from spanlore_extractor.mining.names import SAME_NAME, another_name, is_other_target, is_sibling, is_unlike, pointed
from spanlore_extractor.mining.other_forms import by_test_target, other_form, with_options
from spanlore_extractor.mining.paths import SAME_FILE, looks_like_path, similarity
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import ShellLine, action_of, program_of, take_apart
from spanlore_extractor.mining.tools import ToolKind, argument, is_edit, is_environment_change, kind_of, path_of

_WRONG_PLACE: Final = re.compile(
    r"did not match any files?|not a git repository|no such file|script not found|cannot find|could not find|not found|"
    r"no package\.json|no configuration file|does not exist",
    re.I,
)
_REFUSED_AS_CALLED: Final = re.compile(r"\A\s*(?:Exit code \d+\s+)?(?:Blocked|Refused|Not allowed): ", re.I)
"""How a harness turns down a command for its form."""
_MISSING: Final = re.compile(
    r"No module named ['\"]?([\w.-]+)|Cannot find (?:module|package) ['\"]([@\w./-]+)|command not found: ([\w.-]+)|"
    r"([\w.-]+): (?:command )?not found|cannot find package \"?([\w./-]+)|unable to find (?:library|"
    r"utility) \"?([\w.-]+)",
)
USAGE_ERROR: Final = re.compile(
    r"unrecognized (?:subcommand|arguments?|option)|unknown (?:flag|option|command|subcommand|shorthand)|"
    r"invalid (?:option|argument|choice)|"
    r"illegal option|unexpected argument|no such (?:option|command|subcommand)|script not found|missing script|"
    r"command not found|"
    r"is not a \w+ command|no such file or directory|missing required|no version is set",
    re.I,
)
_NOT_PARSED: Final = re.compile(r"not a valid statement separator|syntax error near|unexpected token|parse error", re.I)
_TESTS_FAILED: Final = re.compile(
    r"^FAILED\b|AssertionError|--- FAIL|\b\d+ failed[,;] \d+ passed|\b\d+ passed[,;] \d+ failed|NotImplementedError|"
    r"Failed to resolve import|^FAIL\b(?!.*(?:build|setup) failed)",
    re.M,
)
_TESTING: Final = re.compile(r"(?:^|[ /:])(?:py|vi)?tests?\b|\b(?:jest|rspec|phpunit|mocha|ava|tox|nextest)\b")
"""Tests ran, and failed: to run others is no answer."""
_PREFIXES: Final = frozenset({"npx", "bunx", "uvx", "pnpm", "yarn"})
_ECHO: Final = re.compile(r"^\s*(?:\[[\w:.-]+\]\s*)?[$>+%❯]\s")
"""A runner shows what it runs (`$ bun test src/`); that is no advice."""
_BYPASSES: Final = frozenset({"--no-verify", "--no-gpg-sign", "--dangerously-skip-permissions", "--force-with-lease",
"--skip-checks", "--no-check"})  # fmt: skip
_INSTALLERS: Final = frozenset({"pip", "uv", "npm", "pnpm", "yarn", "bun", "apt", "apt-get", "brew", "cargo", "go",
"gem", "conda", "poetry", "mise", "apk", "dnf", "yum"})  # fmt: skip
# A failure of these is an answer: the thing is not there.
_PROBES: Final = frozenset({"ls", "which", "type", "command", "test", "[", "stat", "file", "pgrep", "ping", "lsof",
"id", "diff", "cmp", "pwd", "curl", "wget", "kill", "nc", "dig", "nslookup", "getent", "ss", "netstat", "fuser",
"pidof"})  # fmt: skip
_PROBING: Final = frozenset(
    {("git", "config"), ("git", "rev-parse"), ("git", "cat-file"), ("git", "show-ref"), ("git", "ls-remote"), ("git",
    "symbolic-ref"),
     ("npm", "view"), ("npm", "info"), ("npm", "ls"), ("pip", "show"), ("pip", "index"), ("brew", "info"),
     ("docker", "inspect"),
     ("git", "merge-base"), ("git", "check-ignore"), ("gh", "pr", "checks"), ("git", "cherry-pick"), ("git",
     "merge"), ("git", "rebase")}
)  # fmt: skip
MAX_WORD_DISTANCE: Final = 0.5
MAX_WORD_DISTANCE_REFUSED: Final = 0.8
"""The same where the program complained of how it was called, and was called again at once."""
_REFUSED_OPTION: Final = re.compile(
    r"(?:unknown|invalid|illegal|unrecognized|unexpected|unsupported) (?:\w+ )?"
    r"(?:flag|option|argument|switch|field|key)|"
    r"no such option|was replaced by|\bdid you mean\b",
    re.I,
)
_DEPENDENCIES: Final = re.compile(
    r"missing go\.sum entry|updates to go\.(?:mod|sum) needed|go mod tidy|\bnot found\b|cannot find (?:module|package)|"
    r"no module named|node_modules|command not found|ERR_MODULE_NOT_FOUND|could not resolve|unresolved import",
    re.I,
)
"""Something that a project declares is not installed."""
_RESTORING: Final = frozenset(
    {("npm", "ci"), ("npm", "install"), ("npm", "i"), ("pnpm", "install"), ("pnpm", "i"), ("yarn", "install"),
     ("yarn",), ("bun", "install"), ("bun", "i"), ("go", "mod"), ("go", "get"), ("uv", "sync"), ("poetry", "install"),
     ("pipenv", "install"), ("pdm", "install"), ("bundle", "install"), ("composer", "install"), ("dotnet", "restore"),
     ("mix", "deps.get"), ("flutter", "pub"), ("pod", "install")}
)  # fmt: skip
"""What installs all that a project declares."""
_NO_PROGRAM: Final = re.compile(r"command not found|: not found\b|is not recognized as", re.I)
_NO_SUCH_TARGET: Final = re.compile(
    r"no rule to make target|no such (?:task|target|script|recipe)|(?:task|target|recipe|command) .{0,60}not found|"
    r"unknown (?:task|target|script)|couldn'?t find (?:the )?(?:task|script)|does not contain recipe|script not found",
    re.I,
)
_INTERPRETERS: Final = frozenset({"python", "node", "ruby", "perl", "php", "bash", "sh", "zsh", "tsx", "deno", "pwsh"})
"""What these do is told by the script they are given."""
_FILE_READERS: Final = frozenset({"cat", "sed", "head", "tail", "less", "nl", "bat", "wc"})
_RUNNERS: Final = frozenset({"pytest", "jest", "vitest", "mypy", "ruff", "eslint", "tsc", "rspec", "phpunit", "tox"})
"""What checks files or tests that it is given."""
_SCRIPT_CHARS: Final = 40
_SCRIPT_OPTIONS: Final = ("-c", "-e", "--eval")
"""What follows these is a program of its own."""
_STATUS: Final = frozenset({("git", "status"), ("git", "log"), ("git", "diff"), ("docker", "ps"), ("kubectl", "get")})
"""Commands that only tell how things are: their form is not what failed."""


def is_bypass(failure: ToolStep, later: ToolStep) -> bool:
    """Whether the later call only got through by switching a check off."""
    words = {word for argv in take_apart(later.command).commands for word in argv}
    return bool((words & _BYPASSES) - {word for argv in take_apart(failure.command).commands for word in argv})


def is_probe(failure: ToolStep) -> bool:
    """Whether the call only asked; its failing is the answer."""
    if kind_of(failure) is not ToolKind.SHELL or _REFUSED_OPTION.search(failure.output[:600]):
        return False
    last = take_apart(failure.command).last
    action = action_of(last)
    return program_of(last) in _PROBES or action[:2] in _PROBING or action[:3] in _PROBING


def match(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    """The rule by which `later` answers `failure`, or None. `between` are the calls that stand between them."""
    if kind_of(failure) is ToolKind.SHELL:
        if kind_of(later) is not ToolKind.SHELL:
            return None
        return _overcome(failure, later) or (_shell(failure, later, between) if is_success(later) else None)
    if not is_success(later):
        return None
    return match_file_tool(failure, later, between)


def is_same_attempt(failure: ToolStep, later: ToolStep) -> bool:
    """Whether `later` tries again what `failure` tried, however it ends."""
    if kind_of(failure) is not kind_of(later):
        return False
    match kind_of(failure):
        case ToolKind.SHELL:
            one, other = take_apart(failure.command), take_apart(later.command)
            return bool(one.commands and other.commands) and _attempt(one.last) == _attempt(other.last)
        case ToolKind.EDIT:
            return path_of(failure) == path_of(later) and edit_likeness(failure, later) >= 0.5
        case _:
            return failure.tool_name == later.tool_name and path_of(failure) == path_of(later)


def is_same_command(failure: ToolStep, later: ToolStep) -> bool:
    """Whether `later` is the very same command line, what shapes its output aside."""
    one, other = take_apart(failure.command), take_apart(later.command)
    return bool(one.commands) and one.commands == other.commands and one.heredocs == other.heredocs


def _attempt(argv: tuple[str, ...]) -> tuple[str, ...]:
    """What a command tries: its action, of an interpreter the script too."""
    action = action_of(argv)
    if len(action) > 1 or action[:1] == () or action[0] not in _INTERPRETERS:
        return action
    script = next((word for word in argv[1:] if not word.startswith("-")), "")
    return (*action, "-c" if any(word in _SCRIPT_OPTIONS for word in argv[1:3]) else script)


# --- shell -------------------------------------------------------------------------------------------------------


def _shell(failure: ToolStep, later: ToolStep, between: Sequence[ToolStep]) -> Match | None:
    one, other = take_apart(failure.command), take_apart(later.command)
    if not one.commands or not other.commands:
        return None
    same = _same_commands(one, other)
    if same is not None:
        return _rerun(failure, later, between, one, other, same)
    if _is_rerun_after_edit(failure, later, between, one, other) or _is_part_of(failure, between, one, other):
        return Match(DeltaType.CODE_FIX, "the same command passes after files were edited")
    action = _named_action(failure, other)
    if action:
        return action
    if is_probe(failure) or any(is_edit(step) for step in between):
        return None
    if _is_elsewhere(failure, one, other):
        return Match(DeltaType.LOCATION, "the same command passes in another directory")
    form = _changed(one, other, _reach(failure, between)) or with_options(one, other)
    if form and (_runs_other_tests(failure, form) or is_unlike(failure, one, other)):
        return None
    if form and is_sibling(failure, one, other) and not USAGE_ERROR.search(failure.output):
        return None
    if form and _is_set_up(failure, form, between):
        return Match(DeltaType.ENVIRONMENT, "the same command passes after something was set up")
    return (
        form
        or other_form(one, other, between)
        or by_test_target(failure, one, other, between)
        or _extended(failure, one, other)
        or _other_filter(failure, one, other)
        or _elsewhere(failure, one, other, between)
        or _renamed(failure, one, other, between)
        or another_name(failure, one, other, between)
        or pointed(failure, one, other)
    )


def _runs_other_tests(failure: ToolStep, form: Match) -> bool:
    """Whether tests ran and failed, and then others were run: nothing was answered."""
    return (
        form.type in (DeltaType.USAGE, DeltaType.LOCATION)
        and bool(_TESTING.search(failure.command) and _TESTS_FAILED.search(failure.output))
        and not (USAGE_ERROR.search(failure.output) or _REFUSED_OPTION.search(failure.output))
    )


def _is_set_up(failure: ToolStep, form: Match, between: Sequence[ToolStep]) -> bool:
    """Whether it was not the form of the command that failed, and something was set up meanwhile."""
    return (
        form.type is DeltaType.USAGE
        and not USAGE_ERROR.search(failure.output)
        and not _REFUSED_OPTION.search(failure.output)
        and action_of(take_apart(failure.command).last) in _STATUS
        and any(is_environment_change(step) for step in between)
    )


def _reach(failure: ToolStep, between: Sequence[ToolStep]) -> float:
    """How far another form of the command may be."""
    is_refused = bool(_REFUSED_OPTION.search(failure.output[:600])) and len(between) <= MAX_LISTINGS
    return MAX_WORD_DISTANCE_REFUSED if is_refused else MAX_WORD_DISTANCE


def _is_rerun_after_edit(
    failure: ToolStep, later: ToolStep, between: Sequence[ToolStep], one: ShellLine, other: ShellLine
) -> bool:
    """The deciding command is the same, whatever was formatted or built before it, and files were changed meanwhile: by
    other calls, or by the very line that runs it again."""
    if one.last != other.last or len(one.last) < 2 or is_probe(failure) or one.inputs != other.inputs:
        return False
    is_rewritten = one.commands == other.commands and one.heredocs != other.heredocs and is_edit(later)
    return is_rewritten or (one.heredocs == other.heredocs and any(is_edit(step) for step in between))


def _is_part_of(failure: ToolStep, between: Sequence[ToolStep], one: ShellLine, other: ShellLine) -> bool:
    """After files were changed, only that part is run again that the failing output names (`go test ./parse`)."""
    before, after = one.last, other.last
    action = action_of(before)
    if action != action_of(after) or before == after or is_probe(failure) or not any(map(is_edit, between)):
        return False
    if one.heredocs != other.heredocs or (len(action) < 2 and before[0] not in _RUNNERS):
        return False
    named = [word.strip("./").removesuffix("/...") for word in after if word not in before and not word.startswith("-")]
    return bool(named) and all(len(name) >= MIN_TELLING_CHARS and name in failure.output for name in named)


def _is_elsewhere(failure: ToolStep, one: ShellLine, other: ShellLine) -> bool:
    """Something was not there, and the same command, perhaps with more words, was given in another directory."""
    return (
        bool(other.directory)
        and one.directory != other.directory
        and bool(_WRONG_PLACE.search(failure.output))
        and action_of(one.last) == action_of(other.last)
        and len(one.last) > 1
        and set(one.last) <= set(other.last)
        and one.heredocs == other.heredocs
    )


def _extended(failure: ToolStep, one: ShellLine, other: ShellLine) -> Match | None:
    """The same command with words more that the failing output asked for (`git push`, `git push -u origin main`)."""
    before, after = one.last, other.last
    added = [word for word in after if word not in before]
    if action_of(before) != action_of(after) or not set(before) < set(after) or one.heredocs != other.heredocs:
        return None
    asked = [word for word in added if len(word) >= 4 and word in failure.output]
    if not asked or (before[0] != "git" and not any(word.startswith("-") for word in asked)):
        return None
    return Match(DeltaType.USAGE, f"the same command with what the failure asked for: `{' '.join(added)[:80]}`")


def _other_filter(failure: ToolStep, one: ShellLine, other: ShellLine) -> Match | None:
    """What failed was what its output went through, and that was replaced."""
    size = len(one.commands)
    is_same = other.commands[:size] == one.commands and len(other.commands) > size and one.heredocs == other.heredocs
    if not is_same or "|" not in failure.command or not USAGE_ERROR.search(failure.error_line):
        return None
    return Match(DeltaType.USAGE, "the same command passes when its output goes through another program")


def _renamed(failure: ToolStep, one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """The program did not know the script, target or subcommand; another of much the same name, or one that its output
    names, is there."""
    if not (USAGE_ERROR.search(failure.output) or _NO_SUCH_TARGET.search(failure.output)):
        return None
    before, after = one.last, other.last
    if len(between) > MAX_LISTINGS or not before or not after:
        return None
    if _NO_PROGRAM.search(failure.output) and _is_other_program(before, after):
        return Match(DeltaType.USAGE, f"`{before[0]}` is not there; `{' '.join(after[: 1 - len(before)])}` is")
    if not _is_renamed(before, after, failure.output):
        return None
    return Match(DeltaType.USAGE, f"it is called `{action_of(after)[-1]}`, not `{action_of(before)[-1]}`")


def _is_other_program(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether another program was given the same words: `python a.py`, `python3 a.py`; `pip i x`, `uv pip i x`. One
    word alone is given to programs of any purpose (`black src`, `ls src`), so there the name must come again."""
    given = before[1:]
    is_longer = len(after) >= len(before) >= 2
    if not is_longer or before[0] == after[0] or after[-len(given) :] != given:
        return False
    names = [program_of((word,)) for word in after[: -len(given)]]
    return len(given) > 1 or any(similarity(program_of(before), name) >= SAME_NAME for name in names)


def _is_renamed(before: tuple[str, ...], after: tuple[str, ...], output: str = "") -> bool:
    was, is_now = action_of(before), action_of(after)
    if len(was) < 2 or was[:-1] != is_now[:-1] or was == is_now:
        return False
    ratio = difflib.SequenceMatcher(None, was[-1], is_now[-1], autojunk=False).ratio()
    return ratio >= SAME_NAME or bool(re.search(rf"(?<![\w-]){re.escape(is_now[-1])}(?![\w-])", output))


def _elsewhere(failure: ToolStep, one: ShellLine, other: ShellLine, between: Sequence[ToolStep]) -> Match | None:
    """A path was not there, and the same program was given another for the same thing: a word that tells (a pattern, a
    target, a file name) is in both."""
    if not NOT_FOUND.search(failure.output) or len(between) > MAX_LISTINGS or one.heredocs != other.heredocs:
        return None
    before, after = one.last, other.last
    if action_of(before) != action_of(after) or before == after:
        return None
    words = {word for word in before[1:] if len(word) >= MIN_TELLING_CHARS and not word.startswith("-")}
    others = [word for word in after[1:] if len(word) >= MIN_TELLING_CHARS and not word.startswith("-")]
    missing = {word for word in words if word in failure.output or word.rsplit("/", 1)[-1] in failure.output}
    if not missing or missing & set(others):
        return None
    telling = [word for word in words - missing if any(char.isalpha() for char in word[:-1])]
    shared = [word for word in telling if any(word in told or told in word for told in others)]
    return Match(DeltaType.LOCATION, f"the same for `{shared[0]}` with another path") if shared else None


def _same_commands(one: ShellLine, other: ShellLine) -> str | None:
    """'' when the later line runs the failing command again, what it runs first when it adds something, else None."""
    if one.heredocs != other.heredocs:
        return None
    if one.commands == other.commands:
        return ""
    if one.last == other.last and set(other.commands) < set(one.commands):
        return ""
    if other.commands[-len(one.commands) :] == one.commands:
        return " ".join(other.commands[0])
    return None


def _rerun(
    failure: ToolStep, later: ToolStep, between: Sequence[ToolStep], one: ShellLine, other: ShellLine, added: str
) -> Match | None:
    if any(is_edit(step) for step in between):
        return Match(DeltaType.CODE_FIX, "the same command passes after files were edited")
    if added:
        return Match(DeltaType.ENVIRONMENT, f"the same command passes after `{added}`")
    if one.directory != other.directory:
        return Match(DeltaType.LOCATION, "the same command passes in another directory")
    if is_probe(failure):
        return None
    if set(one.assignments) != set(other.assignments):
        return Match(DeltaType.ENVIRONMENT, "the same command passes with other variables")
    if argument(later, "sandbox_permissions", "justification") and not argument(failure, "sandbox_permissions"):
        return Match(DeltaType.PERMISSION, "the same command passes outside the sandbox")
    if any(is_environment_change(step) or _makes_what_was_missing(failure, step) for step in between):
        return Match(DeltaType.ENVIRONMENT, "the same command passes after something was set up")
    is_as_called = (
        _NOT_PARSED.search(failure.output)
        or USAGE_ERROR.search(failure.error_line)
        or _REFUSED_AS_CALLED.search(failure.output)
    )
    if is_as_called and failure.command.strip() != later.command.strip():
        return Match(DeltaType.USAGE, "the same command passes with another filter, redirection or pause")
    return Match(DeltaType.FLAKY, "the same command passes although nothing was changed")


def _makes_what_was_missing(failure: ToolStep, step: ToolStep) -> bool:
    """Whether a call that did not only look around was given the path that the failing output misses."""
    if kind_of(step) is not ToolKind.SHELL or not is_success(step) or not NOT_FOUND.search(failure.output):
        return False
    given = [word for argv in take_apart(step.command).commands if not _only_looks(argv) for word in argv[1:]]
    shared = set(given) & {word for argv in take_apart(failure.command).commands for word in argv[1:]}
    return any(not word.startswith("-") and word in failure.output for word in shared)


def _only_looks(argv: tuple[str, ...]) -> bool:
    return program_of(argv) in _FILE_READERS | _PROBES | {"find", "grep", "rg", "tree"}


def _is_git_remedy(argv: tuple[str, ...]) -> bool:
    """Whether it sets what git asked for; most else that git names only goes on with what is under way."""
    return argv[1] == "config" and len(argv) > MAX_LISTINGS + 1


def _named_action(failure: ToolStep, other: ShellLine) -> Match | None:
    """The failing output named a command, or something missing that the later command installs."""
    missing = next((word for found in _MISSING.finditer(failure.output) for word in found.groups() if word), "")
    advice = "\n".join(line for line in failure.output.splitlines() if not _ECHO.match(line))
    failing = action_of(take_apart(failure.command).last)
    for argv in other.commands:
        text = " ".join(argv)
        if (
            len(argv) >= 2
            and (
                text in advice
                or (argv[0] in _PREFIXES and len(argv) > 2 and " ".join(argv[1:]) in advice)
                or (len(argv) > 3 and " ".join(argv[:3]) in advice and argv[:3] != failing)
            )
            and text not in failure.command
            and (argv[0] != "git" or _is_git_remedy(argv) or (action_of(argv) == failing and not is_probe(failure)))
        ):
            return Match(DeltaType.ENVIRONMENT, "the failing output names this command", is_action=True)
        if missing and program_of(argv) in _INSTALLERS and missing.split(".")[0].lower() in text.lower():
            return Match(DeltaType.ENVIRONMENT, f"installs the missing `{missing}`", is_action=True)
        if action_of(argv)[:2] in _RESTORING and action_of(argv) != failing and _DEPENDENCIES.search(failure.output):
            return Match(DeltaType.ENVIRONMENT, f"`{text[:80]}` installs what was missing", is_action=True)
    return None


def _changed(one: ShellLine, other: ShellLine, reach: float = MAX_WORD_DISTANCE) -> Match | None:
    """The same program asked for the same thing with other words."""
    pair = changed_commands(one, other, reach)
    if pair is None:
        return None
    before, after = pair
    if _is_unwrapped(before, after):
        return Match(DeltaType.USAGE, f"works without `{' '.join(before[: -len(after)])}`")
    return _same_intent(before, after, reach)


def changed_commands(
    one: ShellLine, other: ShellLine, reach: float = MAX_WORD_DISTANCE
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The first command of `one` that `other` has in another form, and that form; None when there is none."""
    if one.heredocs != other.heredocs:
        return None
    for before in one.commands:
        if before in other.commands:
            continue
        for after in other.commands:
            if after not in one.commands and _is_other_form(before, after, reach):
                return before, after
    return None


def _is_other_form(before: tuple[str, ...], after: tuple[str, ...], reach: float) -> bool:
    return (
        _is_unwrapped(before, after)
        or bool(_same_intent(before, after, reach))
        or (_is_renamed(before, after) or _is_other_program(before, after))
    )


def _is_unwrapped(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    return 2 <= len(after) < len(before) and before[-len(after) :] == after


def _same_intent(before: tuple[str, ...], after: tuple[str, ...], reach: float) -> Match | None:
    was, is_now = action_of(before), action_of(after)
    if was != is_now:
        if (
            was[:-1] == is_now[:-1]
            and len(was) > 1
            and re.match(rf"{re.escape(was[-1])}[:._-](?:fix|write|format)", is_now[-1])
        ):
            return Match(DeltaType.USAGE, f"`{is_now[-1]}` does what `{was[-1]}` asks for", is_action=True)
        return None
    distance, paths_only = word_distance(before, after)
    if distance > reach or is_other_target(before, after):
        return None
    if paths_only:
        if program_of(before) in _FILE_READERS and not _is_same_file(before, after):
            return None
        return Match(DeltaType.LOCATION, "the same command with another path")
    return Match(DeltaType.USAGE, "the same command with other arguments")


def _is_same_file(before: tuple[str, ...], after: tuple[str, ...]) -> bool:
    """Whether the paths that differ are the same files, misplaced or misspelled, or what is in a folder of that name;
    to read another file is another call."""
    pairs = [(one, other) for one, other in zip(before, after, strict=False) if one != other]
    return all(similarity(one, other) >= SAME_FILE or other.startswith(f"{one.rstrip('/')}/") for one, other in pairs)


def word_distance(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[float, bool]:
    """(share of words that differ, whether all that differ are paths). 1.0 where a script was replaced by another."""
    changed, paths_only = 0.0, True
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for tag, low, high, other_low, other_high in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = before[low:high], after[other_low:other_high]
        if tag == "replace" and len(old) == len(new):
            for word, other in zip(old, new, strict=True):
                ratio = difflib.SequenceMatcher(None, word[:2000], other[:2000], autojunk=False).ratio()
                is_script = bool(low) and before[low - 1] in _SCRIPT_OPTIONS and program_of(before) in _INTERPRETERS
                if ratio < 0.8 and (is_script or _is_long_text(word)):
                    return 1.0, False
                if looks_like_path(word) and looks_like_path(other):
                    changed += 1 - max(ratio, similarity(word, other))
                else:
                    changed += 1
                    paths_only = False
        else:
            changed += max(len(old), len(new))
            paths_only = False
    return changed / max(len(before) - 1, len(after) - 1, 1), paths_only


def _is_long_text(word: str) -> bool:
    return len(word) > _SCRIPT_CHARS and any(char.isspace() for char in word)


def _overcome(failure: ToolStep, later: ToolStep) -> Match | None:
    """A call that was wrong as a call, done right: it now fails for another reason, so the first one is overcome. Where
    a pipe hides how the later one ended, what it printed tells."""
    if not USAGE_ERROR.search(failure.error_line or failure.output[:400]):
        return None
    if later.outcome is Outcome.FAILURE:
        complaint = later.error_line
    elif later.outcome is Outcome.UNKNOWN and later.outcome_reason in MASKED and later.output.strip():
        complaint = later.output[:2000]
    else:
        return None
    if USAGE_ERROR.search(complaint) or later.signature == failure.signature:
        return None
    one, other = take_apart(failure.command), take_apart(later.command)
    if one.commands == other.commands and one.directory != other.directory:
        return Match(DeltaType.LOCATION, "the same command starts in another directory")
    added = other.commands[: len(other.commands) - len(one.commands)]
    if added and other.commands[len(added) :] == one.commands and one.heredocs == other.heredocs:
        return Match(DeltaType.ENVIRONMENT, f"the same command starts after `{' '.join(added[0])[:80]}`")
    found = _changed(one, other)
    return found if found and found.type is DeltaType.USAGE and not found.is_action else None
