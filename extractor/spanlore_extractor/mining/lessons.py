"""What a delta teaches: its canonical key, so that the same lesson from another session is the same memory.

The key holds what is common to all occurrences: the words that were taken out and put in, not the whole command; paths
below the repository, not on this machine. A lesson that only holds for a temporary file is none.
"""

from __future__ import annotations

import difflib
import re
from typing import Final

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Source, Trigger
from spanlore_extractor.mining.answer import DeltaType
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.failures import Delta
from spanlore_extractor.mining.file_pairing import found_path
from spanlore_extractor.mining.lookups import Lookup
from spanlore_extractor.mining.loops import Loop
from spanlore_extractor.mining.other_forms import is_test_target
from spanlore_extractor.mining.pairing import changed_commands
from spanlore_extractor.mining.paths import looks_like_path
from spanlore_extractor.mining.session import MinedSession, ToolStep
from spanlore_extractor.mining.shell import action_of, take_apart
from spanlore_extractor.mining.tools import ToolKind, is_edit, kind_of, path_of

QUOTE_CHARS: Final = 240
ARROW: Final = " → "
LOOKUP: Final = "lookup"
"""Slot of a location that was looked up."""
ELSEWHERE: Final = "without cd"
"""Value of a lesson about a directory where the agent was already in the right one."""
_NAMES: Final = re.compile(r"\w\.\w|\w_\w|[a-z][A-Z]|'[^']+'|\"[^\"]+\"|`[^`]+`|\b[A-Z]{1,3}\d{2,}\b")
_GENERIC: Final = re.compile(r"\[build failed\]|task failed|would (?:have printed|reformat)|^FAIL\b", re.I)
_SCRIPT: Final = re.compile(r"\"?\$\(cat <<.*|<<-?\s*['\"]?\w+.*", re.S)
_TRIMMING: Final = re.compile(r"(?:\s*2>&1)?(?:\s*\|\s*(?:head|tail)(?:\s+-n?\s*\d+)?)?\s*$")
_AT_ROOT: Final = re.compile(r"^cd\s+\.\s*&&\s*")
_TEMPORARY: Final = re.compile(r"(?:^|[\s=:'\"(])(?:/private)?/(?:tmp|var/folders|var/tmp|dev/shm)/")
_KINDS: Final = {
    DeltaType.USAGE: Kind.USAGE,
    DeltaType.ENVIRONMENT: Kind.ENVIRONMENT,
    DeltaType.LOCATION: Kind.LOCATION,
    DeltaType.HARNESS: Kind.HARNESS,
    DeltaType.PERMISSION: Kind.HARNESS,
    DeltaType.CODE_FIX: Kind.TRAP,
}

_HOW: Final = {
    "file_not_read": "after the file was read",
    "file_changed": "after the file was read again",
    "edit_no_match": "with the file's exact text",
    "edit_not_unique": "with more of the text around it",
    "too_large": "a part of the file at a time",
}
"""What makes a refused file tool accept the call, by class of the refusal."""


UNTOLD: Final = "with other arguments"
"""The same tool went through, and nothing says what made the difference."""


def lesson_of(delta: Delta, session: MinedSession) -> Candidate | str:
    """The candidate a delta makes, or why it makes none."""
    if delta.type is DeltaType.FLAKY:
        return "passed on a second try; nothing to learn"
    if delta.type is DeltaType.CODE_FIX and not _is_telling(delta.failure.error_line):
        return "code was fixed, and the failure's line says too little to recognise it again"
    subject, slot, value, failed, worked = _key(delta, session)
    if not value or value == UNTOLD:
        return "what made the difference can't be told in words that would hold again"
    if delta.type is not DeltaType.CODE_FIX and (_TEMPORARY.search(value) or _TEMPORARY.search(failed)):
        return "about a temporary file"
    kind = _KINDS[delta.type]
    return Candidate(
        kind=kind,
        source=Source.FAILURE_DELTA,
        scope=session.repository,
        session_id=session.session_id,
        subject=subject,
        slot=slot,
        value=value,
        evidence=_evidence(delta, session),
        time_ns=delta.fix.end_time_ns,
        explanation=f"{delta.type}: {delta.reason}",
        harness=session.harness if kind is Kind.HARNESS else "",
        branch=session.branch,
        trigger=_trigger(delta),
        failed=failed,
        worked=worked,
        error_line=delta.failure.error_line,
        paths=tuple(dict.fromkeys(relative(path_of(step), session) for step in delta.remedies if path_of(step))),
        count=len(delta.chain),
        lost_ns=delta.lost_ns,
        lost_calls=delta.lost_calls,
    )


def dead_end_of(loop: Loop, session: MinedSession) -> Candidate:
    """The candidate a loop makes."""
    last = loop.steps[-1]
    return Candidate(
        kind=Kind.DEAD_END,
        source=Source.FAILURE_DELTA,
        scope=session.repository,
        session_id=session.session_id,
        subject=_subject(last),
        slot=last.signature,
        value=last.error_line,
        evidence=tuple(_cite(step, session, EvidenceRole.FAILURE, _failing(step)) for step in loop.steps[-3:]),
        time_ns=last.end_time_ns,
        explanation=f"loop: failed {len(loop.steps)} times in the same way and was not solved",
        branch=session.branch,
        trigger=Trigger((last.signature,), last.program, last.error_class),
        failed=shown_command(last.command, session),
        error_line=last.error_line,
        count=len(loop.steps),
        lost_ns=loop.lost_ns,
        lost_calls=len(loop.steps),
    )


def pinned(lookup: Lookup, session: MinedSession) -> Candidate:
    """The candidate a look-up makes: worth keeping once several sessions looked for the same."""
    path = relative(lookup.path, session)
    return Candidate(
        kind=Kind.LOCATION,
        source=Source.REPEATED_LOOKUP,
        scope=session.repository,
        session_id=session.session_id,
        subject=lookup.term,
        slot=LOOKUP,
        value=path,
        evidence=(
            _cite(lookup.search, session, EvidenceRole.FIX, lookup.search.command or lookup.term),
            _cite(lookup.read, session, EvidenceRole.FIX, path),
        ),
        time_ns=lookup.read.end_time_ns,
        explanation=f"look-up: {lookup.reason}",
        branch=session.branch,
        failed=lookup.term,
        worked=path,
        lost_calls=2,
    )


def _is_telling(line: str) -> bool:
    """Whether a failure's line names what failed, so that it is the same failure when it comes back."""
    return len(line.split()) >= 3 and bool(_NAMES.search(line)) and not _GENERIC.search(line)


def shown_command(command: str, session: MinedSession) -> str:
    """A command as it is told: paths below the repository, without what only shapes its output or goes where it is."""
    told = _SCRIPT.sub("…", relative(command, session).strip())
    return _AT_ROOT.sub("", _TRIMMING.sub("", told)).strip()


def relative(text: str, session: MinedSession) -> str:
    """`text` with the repository's directory on this machine taken off its paths."""
    root = session.cwd
    if session.sub_path and root.endswith("/" + session.sub_path):
        root = root[: -len(session.sub_path) - 1]
    if len(root) < 2:
        return text
    return text.replace(root + "/", "").replace(root, ".")


def _key(delta: Delta, session: MinedSession) -> tuple[str, str, str, str, str]:
    """(subject, slot, value, failed, worked)."""
    failure, fix = delta.failure, delta.fix
    if delta.type is DeltaType.CODE_FIX:
        failed = shown_command(failure.command, session)
        return _subject(failure), failure.signature, failure.error_line, failed, ""
    if delta.type is DeltaType.PERMISSION:
        return _subject(failure), "sandbox", "with approval", failure.command, fix.command
    if delta.type is DeltaType.HARNESS:
        how = _how(delta)
        # Two ways around one refusal are no contradiction, so the way is part of the slot.
        return failure.tool_name, f"{failure.error_class}: {how}", how, failure.tool_name, how
    if kind_of(failure) is not ToolKind.SHELL:
        path, found = relative(path_of(failure), session), relative(found_path(failure, fix), session)
        return path, "path", found, path, found
    if delta.type is DeltaType.ENVIRONMENT:
        return _environment(delta, session)
    return _changed(failure, fix, session)


def _environment(delta: Delta, session: MinedSession) -> tuple[str, str, str, str, str]:
    failure, fix = delta.failure, delta.fix
    failed = shown_command(failure.command, session)
    slot = f"{failure.error_class}:{failure.signature}"
    one, other = take_apart(failure.command), take_apart(fix.command)
    if delta.remedies:
        remedy = shown_command(delta.remedies[-1].command, session)
        return _subject(failure), slot, _plain(remedy), failed, remedy
    if set(one.commands) <= set(other.commands) and set(other.assignments) != set(one.assignments):
        added = [word for word in other.assignments if word not in one.assignments]
        removed = [word for word in one.assignments if word not in other.assignments]
        return _subject(failure), slot, _edit_text(removed, added), failed, shown_command(fix.command, session)
    return (
        _subject(failure),
        slot,
        _plain(shown_command(fix.command, session)),
        failed,
        shown_command(fix.command, session),
    )


def _changed(failure: ToolStep, fix: ToolStep, session: MinedSession) -> tuple[str, str, str, str, str]:
    one = take_apart(relative(failure.command, session))
    other = take_apart(relative(fix.command, session))
    failed, worked = shown_command(failure.command, session), shown_command(fix.command, session)
    is_same = one.commands == other.commands or one.last == other.last
    if is_same or (one.directory != other.directory and one.last and set(one.last) <= set(other.last)):
        if one.directory == other.directory:
            return _subject(failure), "", "", failed, worked
        return " ".join(action_of(one.last)), "directory", other.directory or ELSEWHERE, failed, other.directory
    if is_test_target(one, other):
        return _subject(failure), "target", _plain(worked), failed, worked
    pair = changed_commands(one, other)
    if pair is None:
        return _subject(failure), "", "", failed, worked
    before, after = pair
    removed, added = _words_changed(before, after)
    if not removed and all(looks_like_path(word) for word in added):
        return _subject(failure), "", "", failed, worked  # other files, not another form
    change = _edit_text(removed, added)
    return " ".join(action_of(before)), f"{failure.error_class}:{' '.join(removed)}", change, failed, worked


def _words_changed(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[list[str], list[str]]:
    removed: list[str] = []
    added: list[str] = []
    for tag, low, high, other_low, other_high in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            removed += before[low:high]
            added += after[other_low:other_high]
    return removed, added


def _edit_text(removed: list[str], added: list[str]) -> str:
    return f"{' '.join(removed) or '∅'}{ARROW}{' '.join(added) or '∅'}"[:300]


def _how(delta: Delta) -> str:
    """What was done otherwise, in words that hold for any file."""
    failure, fix = delta.failure, delta.fix
    if fix.tool_name != failure.tool_name:
        return fix.tool_name  # which program the shell then ran is of that one call
    return _HOW.get(failure.error_class, UNTOLD)


def _plain(command: str) -> str:
    """The commands of a line without what only shapes their output."""
    quiet = ("-q", "-v", "--quiet", "--verbose")
    commands = (" ".join(word for word in argv if word not in quiet) for argv in take_apart(command).commands)
    return " && ".join(commands)[:300]


def _subject(step: ToolStep) -> str:
    line = take_apart(step.command)
    return " ".join(action_of(line.last)) if kind_of(step) is ToolKind.SHELL and line.last else step.tool_name


def _trigger(delta: Delta) -> Trigger:
    signatures = tuple(dict.fromkeys(step.signature for step in delta.chain if step.signature))
    return Trigger(signatures, delta.failure.program, delta.failure.error_class)


def _evidence(delta: Delta, session: MinedSession) -> tuple[Evidence, ...]:
    fix = delta.fix
    shown = fix.command if kind_of(fix) is ToolKind.SHELL or not is_edit(fix) else f"{fix.tool_name} {fix.command}"
    remedies = [
        _cite(step, session, EvidenceRole.FIX, step.command)
        for step in delta.remedies[-2:]
        if step.span_id != fix.span_id
    ]
    return (
        *(_cite(step, session, EvidenceRole.FAILURE, _failing(step)) for step in delta.chain[-2:]),
        *remedies,
        _cite(fix, session, EvidenceRole.FIX, shown),
    )


def _failing(step: ToolStep) -> str:
    return f"{step.command}\n{step.error_line}" if kind_of(step) is ToolKind.SHELL else step.error_line


def _cite(step: ToolStep, session: MinedSession, role: EvidenceRole, quote: str) -> Evidence:
    return Evidence(step.trace_id, step.span_id, session.session_id, role, step.end_time_ns, quote[:QUOTE_CHARS])
