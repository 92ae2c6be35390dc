"""One import: session files → spans that the store does not have yet.

What was stored before, by the wire or by an earlier import, is left as it is: a span's id says what it is. A file that
is still being written is read to its last whole answer; the next import goes on from there, since nothing is told
twice. What each file was like when it was last read is remembered, so that an unchanged one costs a look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from spanlore import private_file
from spanlore.redaction.values import Redact
from spanlore.repository.checkout import locate
from spanlore.semconv import gen_ai
from spanlore.spans.place import Workplace
from spanlore.spans.record import SpanKind, SpanRecord
from spanlore.transcripts import opencode
from spanlore.transcripts.events import Answered, Transcript
from spanlore.transcripts.opencode_storage import export_at
from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from spanlore_proxy.capture.ignored import IgnoredFiles
from spanlore_proxy.capture.strip import strip_records
from spanlore_proxy.importers.captured import TOLERANCE_NS, Captured, Prompt, match, prompts_of
from spanlore_proxy.importers.collecting import Known, StoredAnswer
from spanlore_proxy.importers.opencode_db import UnreadableDatabaseError, exports_in
from spanlore_proxy.importers.places import DATABASE
from spanlore_proxy.importers.replay import SOURCE, session_id_of, spans_of

REMEMBERED: Final = "imports.json"
NAMELESS: Final = frozenset({"pi", "mini-swe-agent"})
"""Agents whose requests name no session: what the wire saw of them is found by the answers' ids."""
WORDLESS: Final = frozenset({"gemini-cli"})
"""Agents that name no session either (with an API key), and whose files keep no ids of answers: what the wire saw of
them is found by the person's words and their time."""
SETTLED_NS: Final = 60 * 10**9
"""A file that was not written for this long is over, as far as an import is concerned."""


class Store(Protocol):
    """Where spans go."""

    def known(self, session_id: str) -> Known:
        """What is stored of a session."""
        ...

    def answers(self, response_ids: list[str]) -> list[StoredAnswer]:
        """Those of these answers that are stored, in whatever session."""
        ...

    def prompts(self, harness: str, low_ns: int, high_ns: int) -> list[Prompt]:
        """What the wire saw people type to an agent in that time."""
        ...

    def export(self, records: list[SpanRecord]) -> int:
        """Stores spans; how many."""
        ...


@dataclass(slots=True)
class Imported:
    """What became of one session file."""

    path: str
    harness: str = ""
    sessions: int = 0
    lines: int = 0
    malformed_lines: int = 0
    spans: int = 0
    """That the file tells."""
    new_spans: int = 0
    """That the store did not have."""
    repository: str = ""
    is_open: bool = False
    """Still being written: its last answer waits for the next import."""
    skipped: str = ""
    """Why nothing of it was taken."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What the user's settings say about imports."""

    redact: Redact
    ignored: IgnoredFiles | None = None
    """Knows the files whose content is not kept, and is in `redact` too."""
    is_off: Callable[[Workplace], bool] = lambda workplace: False
    """Whether that repository is not to be captured."""
    is_metadata_only: bool = False
    repository: str = ""
    """Of sessions whose directory is not on this machine, '' when unknown."""


@dataclass(slots=True)
class Memory:
    """What files were like when they were last imported."""

    path: Path
    seen: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Memory:
        """An unreadable file is as none: everything is looked at again."""
        try:
            seen = json.loads(path.read_bytes())
        except (OSError, ValueError):
            seen = {}
        return cls(path, seen if isinstance(seen, dict) else {})

    def is_unchanged(self, file: Path) -> bool:
        """Whether the file is as it was when it was last read to its end."""
        return self.seen.get(str(file.absolute())) == stamp_of(file)

    def remember(self, file: Path, stamp: list[int]) -> None:
        """Atomic."""
        self.seen[str(file.absolute())] = stamp
        private_file.replace(self.path, json.dumps(self.seen).encode())


def stamp_of(file: Path) -> list[int]:
    """Size and time of the last write; a database's log counts with it. [] when it is not there."""
    try:
        parts = [file.stat()] + [log.stat() for log in [file.with_name(file.name + "-wal")] if log.exists()]
    except OSError:
        return []
    return [sum(part.st_size for part in parts), max(part.st_mtime_ns for part in parts)]


def import_file(file: Path, agent: str, rules: Rules, store: Store | None, now_ns: int) -> Imported:
    """Imports one file; without a store it only tells what it would.

    Raises:
        RuntimeError: the store did not take it.
    """
    out = Imported(str(file))
    stamp = stamp_of(file)
    out.is_open = bool(stamp) and now_ns - stamp[1] < SETTLED_NS
    try:
        for transcript, mark in _transcripts(file):
            if agent and transcript.harness != agent:
                out.harness = transcript.harness
                out.skipped = f"a session of {transcript.harness}, not of {agent}"
                continue
            _import(transcript, mark, out, rules, store, stamp[1] if stamp else now_ns)
    except UnknownFormatError as error:
        out.skipped = f"is {error}"
    except (OSError, UnreadableDatabaseError) as error:
        out.skipped = f"can't be read: {error}"
    return out


def _transcripts(file: Path) -> Iterator[tuple[Transcript, bytes]]:
    """The transcripts of a file, each with what tells it from others."""
    if file.name == DATABASE or file.suffix == ".db":
        for export in exports_in(file):
            yield opencode.read(export), b""
        return
    stored = export_at(file)
    if stored is not None:
        yield opencode.read(stored), b""
        return
    data = file.read_bytes()
    yield read_transcript(data), data


def _import(
    transcript: Transcript, mark: bytes, out: Imported, rules: Rules, store: Store | None, written_ns: int
) -> None:
    transcript, agents = with_parent(transcript, Path(out.path))
    workplace = workplace_of(transcript, rules.repository)
    out.harness, out.repository = transcript.harness, workplace.repository or out.repository
    out.lines += transcript.lines
    out.malformed_lines += transcript.malformed_lines
    if rules.is_off(workplace):
        out.skipped = "its repository is not to be captured"
        return
    if store is not None and transcript.harness in WORDLESS and out.is_open:
        out.skipped = "still being written; it is taken when that is over"  # the wire may not have told of it yet
        return
    out.sessions += 1
    session_id = session_id_of(transcript, mark)
    captured = Captured()
    if store is not None and transcript.harness in WORDLESS:
        captured = _captured(transcript, rules.redact, store)
        session_id = captured.session_id or session_id
    stored: list[StoredAnswer] = []
    if store is not None and transcript.harness in NAMELESS:
        stored = store.answers(_response_ids(transcript))
        sessions = sorted(stored, key=lambda one: not one.is_captured)
        session_id = sessions[0].session_id if sessions else session_id
    records = [
        record
        for group in spans_of(
            transcript,
            workplace,
            rules.redact,
            session_id=session_id,
            is_over=not out.is_open,
            start_ns=written_ns,
            agents=agents,
            ignored=rules.ignored,
        )
        for record in group
    ]
    out.spans += len(records)
    if store is None:
        return
    known = store.known(session_id)
    for other in {one.session_id for one in stored} - {session_id}:
        known |= store.known(other)
    new = [record for record in records if not _is_known(record, known) and not captured.covers(record.start_time_ns)]
    if stored:
        new = _not_elsewhere(new, known, frozenset(one.response_id for one in stored))
    out.new_spans += store.export(strip_records(new) if rules.is_metadata_only else new) if new else 0


def _captured(transcript: Transcript, redact: Redact, store: Store) -> Captured:
    prompts = prompts_of(transcript, redact)
    if not prompts:
        return Captured()
    times = [prompt.time_ns for prompt in prompts]
    return match(prompts, store.prompts(transcript.harness, min(times) - TOLERANCE_NS, max(times) + TOLERANCE_NS))


def with_parent(transcript: Transcript, file: Path) -> tuple[Transcript, frozenset[str] | None]:
    """A sub-agent's own file with the events of the session that started it before its own, so that it hangs under the
    call that did; and the agents to be told, None for all. Claude Code keeps such files beside the session's, or in a
    folder of the session's name."""
    agents = frozenset(event.mark.agent for event in transcript.events)
    if not agents or "" in agents or not transcript.session_id:
        return transcript, None
    for folder in (file.parent, *list(file.parents)[1:3]):
        main = folder / f"{transcript.session_id}.jsonl"
        if main != file and main.is_file():
            try:
                before = read_transcript(main.read_bytes())
            except (OSError, UnknownFormatError):
                continue
            events = tuple(event for event in before.events if event.mark.agent not in agents)
            return replace(transcript, events=(*events, *transcript.events)), agents
    return transcript, None


def _response_ids(transcript: Transcript) -> list[str]:
    answers = (event for event in transcript.events if isinstance(event, Answered) and event.is_response_id)
    return list(dict.fromkeys(answer.answer for answer in answers))


def _is_known(record: SpanRecord, known: Known) -> bool:
    """Whether the store has that span, or, of an answer whose provider's id the file does not keep, whether the wire
    saw the answers of its turn."""
    if record.span_id.hex() in known.spans:
        return True
    is_answer = record.kind is SpanKind.CLIENT and gen_ai.RESPONSE_ID not in record.attributes
    return is_answer and record.trace_id.hex() in known.captured_traces


def _not_elsewhere(records: list[SpanRecord], known: Known, answered: frozenset[str]) -> list[SpanRecord]:
    """Without answers and tool calls that stand in the store under another session, nor turns of which nothing else is
    left: of an agent that names no session the wire makes one, and a file that was imported before it was captured has
    its own."""
    told = [
        record
        for record in records
        if record.attributes.get(gen_ai.RESPONSE_ID) in answered
        or record.attributes.get(gen_ai.TOOL_CALL_ID) in known.calls
    ]
    told_ids, told_traces = {record.span_id for record in told}, {record.trace_id for record in told}
    left = [record for record in records if record.span_id not in told_ids]
    open_traces = {record.trace_id for record in left if not _is_turn(record)}
    return [
        record
        for record in left
        if not _is_turn(record) or record.trace_id in open_traces or record.trace_id not in told_traces
    ]


def _is_turn(record: SpanRecord) -> bool:
    return record.attributes.get(gen_ai.OPERATION_NAME) == gen_ai.OP_INVOKE_AGENT


def workplace_of(transcript: Transcript, repository: str) -> Workplace:
    """Whose work a session was. A directory that is not on this machine tells no repository."""
    checkout = locate(Path(transcript.cwd)) if transcript.cwd.startswith("/") else None
    return Workplace(
        harness=transcript.harness,
        harness_version=transcript.version,
        repository=(checkout.scope if checkout else "") or repository,
        sub_path=checkout.sub_path if checkout else "",
        branch=transcript.branch or (checkout.branch if checkout else ""),
        cwd=transcript.cwd,
        source=SOURCE,
    )


def import_all(
    files: Iterable[Path], agent: str, rules: Rules, store: Store | None, memory: Memory, clock_ns: Callable[[], int]
) -> Iterator[Imported]:
    """Imports files one after the other; those that have not changed are told as such and not read."""
    for file in files:
        if store is not None and memory.is_unchanged(file):
            yield Imported(str(file), agent, skipped="unchanged")
            continue
        stamp = stamp_of(file)
        done = import_file(file, agent, rules, store, clock_ns())
        if store is not None and not done.is_open and stamp and done.sessions:
            memory.remember(file, stamp)
        yield done


def as_json(done: Imported) -> dict[str, object]:
    """For scripts."""
    return asdict(done)
