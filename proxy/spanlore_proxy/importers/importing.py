"""One import: session files → spans that the store does not have yet.

What was stored before, by the wire or by an earlier import, is left as it is: a span's id says what it is. A file that
is still being written is read to its last whole answer; the next import goes on from there, since nothing is told
twice. What each file was like when it was last read is remembered, so that an unchanged one costs a look.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Protocol

from spanlore.redaction.values import Redact
from spanlore.repository.checkout import locate
from spanlore.semconv import gen_ai
from spanlore.spans.place import Workplace
from spanlore.spans.record import SpanKind, SpanRecord
from spanlore.transcripts import opencode
from spanlore.transcripts.events import Answered, Transcript
from spanlore.transcripts.opencode_storage import export_at
from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from spanlore_proxy.capture.strip import strip_records
from spanlore_proxy.importers.collecting import Known
from spanlore_proxy.importers.opencode_db import UnreadableDatabaseError, exports_in
from spanlore_proxy.importers.places import DATABASE
from spanlore_proxy.importers.replay import SOURCE, session_id_of, spans_of

REMEMBERED: Final = "imports.json"
NAMELESS: Final = frozenset({"pi", "mini-swe-agent"})
"""Agents whose requests name no session: what the wire saw of them is found by the answers' ids."""
SETTLED_NS: Final = 60 * 10**9
"""A file that was not written for this long is over, as far as an import is concerned."""


class Store(Protocol):
    """Where spans go."""

    def known(self, session_id: str) -> Known:
        """What is stored of a session."""
        ...

    def session_of(self, response_ids: list[str]) -> str:
        """The session that the wire saw these answers in, '' when it saw none of them."""
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
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(self.seen))
        draft.chmod(0o600)
        draft.replace(self.path)


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
    workplace = workplace_of(transcript, rules.repository)
    out.harness, out.repository = transcript.harness, workplace.repository or out.repository
    out.lines += transcript.lines
    out.malformed_lines += transcript.malformed_lines
    if rules.is_off(workplace):
        out.skipped = "its repository is not to be captured"
        return
    out.sessions += 1
    session_id = session_id_of(transcript, mark)
    if store is not None and transcript.harness in NAMELESS:
        session_id = store.session_of(_response_ids(transcript)) or session_id
    records = [
        record
        for group in spans_of(
            transcript, workplace, rules.redact, session_id=session_id, is_over=not out.is_open, start_ns=written_ns
        )
        for record in group
    ]
    out.spans += len(records)
    if store is None:
        return
    known = store.known(session_id)
    new = [record for record in records if not _is_known(record, known)]
    out.new_spans += store.export(strip_records(new) if rules.is_metadata_only else new) if new else 0


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
