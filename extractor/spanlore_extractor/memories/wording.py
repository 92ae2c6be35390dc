"""What an agent is shown of a memory: one or two declarative sentences, put together from templates.

Nothing in a text is an order of ours. A rule is the person's, quoted with the day they said it. What came from a tool
is quoted in back-ticks or quotation marks, on one line, and left out where it reads like an instruction itself.
Counts and confidence are not in the text: they change, and the renderer adds them.
"""

from __future__ import annotations

from typing import Final

from spanlore.memory.memory import Kind
from spanlore.memory.shapes import is_error_line, suspicious
from spanlore.memory.stated import day_of
from spanlore_extractor.memories.generality import core_of
from spanlore_extractor.mining.candidate import Candidate
from spanlore_extractor.mining.lessons import ARROW, LOOKUP

MAX_TEXT_CHARS: Final = 400
_COMMAND_CHARS: Final = 110
_LINE_CHARS: Final = 100
_MORE: Final = "…"


def text_of(candidate: Candidate) -> str:
    """The candidate's text, at most `MAX_TEXT_CHARS`."""
    match candidate.kind:
        case Kind.CORRECTION | Kind.EXPLICIT:
            text = _statement(candidate)
        case Kind.LOCATION if candidate.slot == "path":
            text = f"{_code(candidate.failed)} does not exist; {_code(candidate.worked)} does."
        case Kind.LOCATION if candidate.slot == LOOKUP:
            text = f"{_code(candidate.failed)} is in {_code(candidate.worked)}."
        case Kind.HARNESS if candidate.slot == "sandbox":
            text = f"{_code(candidate.subject)} failed inside the sandbox; it passed outside of it, with approval."
        case Kind.HARNESS:
            text = f"{_failure(candidate)}; the same went through {_way(candidate.worked)}."
        case Kind.ENVIRONMENT if ARROW not in candidate.value:
            text = f"{_failure(candidate)}; it passed after {_code(candidate.worked)}."
        case Kind.LOCATION if candidate.slot == "directory":
            text = f"{_failure(candidate)}; {_from(candidate.worked)} it worked."
        case Kind.TRAP:
            text = _trap(candidate)
        case Kind.DEAD_END:
            text = f"{_failure(candidate)}, again and again in one session, and was not solved there."
        case _:
            text = f"{_failure(candidate)}; {_code(candidate.worked)} worked instead."
    return clip(text, MAX_TEXT_CHARS)


def why_of(candidate: Candidate) -> str:
    """The person's own words, or the failure's line."""
    return candidate.quote or candidate.error_line


def is_shown_whole(candidate: Candidate) -> bool:
    """Whether the form that worked fits into the text: half a command teaches nothing."""
    return len(" ".join(candidate.worked.split())) <= _COMMAND_CHARS


def clip(text: str, limit: int) -> str:
    """At most `limit` characters on one line, with `…` where something was cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + _MORE


def quoted_parts(text: str) -> list[str]:
    """What stands in back-ticks or “…” in a text of ours, without the mark of a cut."""
    return [part.removesuffix(_MORE).strip() for part in (*code_parts(text), *_between(text, "“", "”"))]


def code_parts(text: str) -> list[str]:
    """What stands in back-ticks in a text of ours, in order: what failed first, what worked last."""
    return _between(text, "`", "`")


def _between(text: str, opening: str, closing: str) -> list[str]:
    out, rest = [], text
    while opening in rest:
        part, found, rest = rest.partition(opening)[2].partition(closing)
        if found:
            out.append(part)
    return out


def _statement(candidate: Candidate) -> str:
    asked = "The user asked to have this remembered" if candidate.kind is Kind.EXPLICIT else "The user said"
    day = day_of(candidate.time_ns)
    # What was refused is an agent's call: it is told only where it can't be taken for advice.
    refused = _refused(candidate.failed)
    refusing = f", refusing {_code(refused)}" if refused and not suspicious(refused) else ""
    head = f"{asked} ({day}){refusing}: "
    return f'{head}"{clip(said_in(candidate), MAX_TEXT_CHARS - len(head) - 2)}"'


def said_in(candidate: Candidate) -> str:
    """What of a person's words is told: of a correction the sentences that state something, else all."""
    if candidate.kind is not Kind.CORRECTION:
        return candidate.quote
    return core_of(candidate.quote, candidate.is_statement) or candidate.quote


def _refused(call: str) -> str:
    """A refused call as it is told: a shell command whole, of a file tool the file's name only."""
    tool, _, rest = call.partition(" ")
    return f"{tool} {rest.rsplit('/', 1)[-1]}" if rest.startswith(("/", "~")) and " " not in rest else call


def _failure(candidate: Candidate) -> str:
    line, failed = candidate.error_line, " ".join(candidate.failed.split())
    if len(failed) > _COMMAND_CHARS and candidate.kind is not Kind.USAGE and candidate.subject:
        failed = candidate.subject  # half a command tells less than what it ran
    if not is_error_line(line):
        return f"{_code(failed)} failed"
    return f"{_code(failed)} failed with {_line(line)}"


def _trap(candidate: Candidate) -> str:
    files = ", ".join(_code(path) for path in candidate.paths[:3])
    changed = f"; what was changed before it passed: {files}" if files else ""
    return f"{_failure(candidate)} in more than one session, each time until code was changed{changed}."


def _from(directory: str) -> str:
    if not directory:
        return "without changing the directory"
    return "from the root of the repository" if directory == "." else f"from {_code(directory)}"


def _way(how: str) -> str:
    return how if how.startswith(("after ", "with ", "a part ")) else f"with {_code(how)}"


def _code(text: str) -> str:
    return f"`{clip(text.replace('`', chr(39)), _COMMAND_CHARS)}`"


def _line(text: str) -> str:
    return f"“{clip(text.replace('”', chr(34)).replace('“', chr(34)), _LINE_CHARS)}”"
