"""What brings notes and memories into step: operations for what a person did to the notes, files to write and to take
away. Pure.

Each note is compared with what it said when it was last in step. Changed on one side, the other follows; changed on
both, the person's file stays as it is, ours is laid beside it as `.conflict`, and nothing else happens until that file
is taken away: then the person's word holds. A deleted note is a memory to forget, unless so many are gone that it
looks like an accident.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from spanlore.memory import stated
from spanlore.memory.memory import USER_SCOPE, Memory, Status
from spanlore.memory.operations import Operation
from spanlore.redaction.redact import Redactor
from spanlore_extractor.notes.markdown import Note, NoteError, note_of, read_note

CONFLICT: Final = ".conflict"
FEW_DELETIONS: Final = 5
_MIRRORED: Final = (Status.ACTIVE, Status.TRIAL, Status.CANDIDATE, Status.QUARANTINED)
_BY: Final = "user"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one note since the last time."""

    file: str
    """Relative path."""
    digest: str
    """Of the file as it was written or read then."""
    said: str
    """Digest of what the memory said then: text, status, pin."""


@dataclass(slots=True)
class Plan:
    """What to do."""

    operations: list[Operation] = field(default_factory=list)
    writes: dict[str, str] = field(default_factory=dict)
    removals: list[str] = field(default_factory=list)
    index: dict[str, Entry] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    """Files that a person has to look at."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    """(file, what is wrong)."""
    withheld_deletions: int = 0


@dataclass(frozen=True, slots=True)
class Folder:
    """The notes as they are."""

    files: Mapping[str, str]
    """Relative path → text of every Markdown file."""
    conflicts: frozenset[str] = frozenset()
    """Relative paths of `.conflict` files."""
    is_new: bool = False
    """The folder was not there: nothing in it was deleted."""


def plan_of(
    memories: Sequence[Memory], folder: Folder, index: Mapping[str, Entry], redactor: Redactor, now_ns: int,
    *, with_deletions: bool = False,
) -> Plan:  # fmt: skip
    """The plan that brings both sides into step."""
    return _Planning(memories, folder, index, redactor, now_ns, with_deletions).plan()


def file_of(memory: Memory) -> str:
    """Where a memory's note lies, unless a person has moved it."""
    words = re.sub(r"[^a-z0-9]+", "-", memory.text.lower()).strip("-")[:40].strip("-")
    scope = re.sub(r"[^A-Za-z0-9._-]+", "-", memory.scope).strip("-.") or "unknown"
    return f"memories/{scope}/{memory.id}{'-' if words else ''}{words}.md"


def digest_of(text: str) -> str:
    """16 hex digits."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def said_by(memory: Memory) -> str:
    """Digest of what a person may change."""
    return digest_of(f"{memory.text}\0{memory.status}\0{memory.pinned}")


class _Planning:
    def __init__(
        self, memories: Sequence[Memory], folder: Folder, index: Mapping[str, Entry], redactor: Redactor, now_ns: int,
        with_deletions: bool,
    ) -> None:  # fmt: skip
        self._memories = {memory.id: memory for memory in memories}
        self._folder, self._index, self._redactor, self._now_ns = folder, index, redactor, now_ns
        self._with_deletions = with_deletions
        self._made = Plan()
        self._notes: dict[str, tuple[str, Note]] = {}
        self._broken: set[str] = set()

    def plan(self) -> Plan:
        own = self._read()
        gone = [key for key in self._index if key not in self._notes and self._is_mirrored(key)]
        spared = set() if self._may_delete(gone) else set(gone)
        self._made.withheld_deletions = 0 if self._folder.is_new else len(spared)
        for key in sorted(self._memories):
            self._take(key, is_spared=key in spared)
        for file, note in own:
            self._remember(file, note)
        return self._made

    def _read(self) -> list[tuple[str, Note]]:
        """Sorts the files into notes of memories and those that people made; broken ones are told and left alone."""
        own = []
        for file, text in sorted(self._folder.files.items()):
            try:
                note = read_note(text)
            except NoteError as error:
                self._made.problems.append((file, str(error)))
                self._broken.add(file)
                self._keep_entry_of(file)
                continue
            if not note.memory_id:
                own.append((file, note))
            elif note.memory_id in self._notes and self._known_file(note.memory_id) != file:
                self._made.problems.append((file, f"a second note of {note.memory_id}; it is not read"))
            else:
                self._notes[note.memory_id] = (file, note)
        return own

    def _keep_entry_of(self, file: str) -> None:
        """A note that can't be read is not a deleted one."""
        for key, entry in self._index.items():
            if entry.file == file:
                self._notes[key] = (file, Note())
                self._made.index[key] = entry

    def _known_file(self, key: str) -> str:
        return self._index[key].file if key in self._index else ""

    def _is_mirrored(self, key: str) -> bool:
        return key in self._memories and self._memories[key].status in _MIRRORED

    def _may_delete(self, gone: Sequence[str]) -> bool:
        if self._folder.is_new:
            return False
        noted = sum(key in self._memories for key in self._index)
        return self._with_deletions or len(gone) <= FEW_DELETIONS or len(gone) * 2 <= noted

    def _take(self, key: str, is_spared: bool) -> None:
        memory = self._memories[key]
        file, note = self._notes.get(key, ("", Note()))
        entry = self._index.get(key)
        if file and not note.front:
            return  # it can't be read
        if not file:
            if entry is not None and memory.status in _MIRRORED and not is_spared and said_by(memory) == entry.said:
                self._do([stated.forget(memory)])
            elif memory.status in _MIRRORED and file_of(memory) not in self._broken:
                self._write(memory, file_of(memory))
            return
        text = self._folder.files[file]
        if entry is not None and digest_of(text) == entry.digest:
            self._follow(memory, file, entry)
        else:
            self._changed_by_hand(memory, file, note, entry)

    def _follow(self, memory: Memory, file: str, entry: Entry) -> None:
        """The note is as we left it."""
        if memory.status not in _MIRRORED:
            self._made.removals.append(file)
        elif note_of(memory) != self._folder.files[file]:
            self._write(memory, file)
        else:
            self._made.index[memory.id] = replace(entry, file=file, said=said_by(memory))

    def _changed_by_hand(self, memory: Memory, file: str, note: Note, entry: Entry | None) -> None:
        wanted = _wanted(note, memory)
        if wanted == (memory.text, memory.status.value, memory.pinned):
            return self._write(memory, file)  # nothing that counts was changed
        both = entry is not None and said_by(memory) != entry.said
        beside = file + CONFLICT
        was_conflict = entry is not None and entry.digest.startswith("!")
        if beside in self._folder.conflicts or (both and not was_conflict):
            if beside not in self._folder.conflicts:
                self._made.writes[beside] = note_of(memory)
            self._made.conflicts.append(file)
            self._made.index[memory.id] = Entry(file, f"!{digest_of(self._folder.files[file])}", said_by(memory))
            return None
        try:
            after = self._do(self._operations(memory, wanted))
        except ValueError as error:
            self._made.problems.append((file, str(error)))
            self._made.index[memory.id] = entry or Entry(file, "", said_by(memory))
            return None
        if after.status in _MIRRORED:
            return self._write(after, file)
        self._made.removals.append(file)
        return None

    def _operations(self, memory: Memory, wanted: tuple[str, str, bool]) -> list[Operation]:
        """What the person did to the note, as what they could have done by command."""
        text, status, pinned = wanted
        known = list(self._memories.values())
        if status == Status.FORGOTTEN.value:
            return [stated.forget(memory)]
        out: list[Operation] = []
        if text != memory.text:
            out += stated.edit(memory, self._redactor.redact(text).text, known, self._now_ns, _BY)
        elif status != memory.status.value:
            if status != Status.ACTIVE.value:
                raise ValueError(f"status can be set to active or forgotten, not to {status!r}")
            out += stated.confirm(memory, known, self._now_ns)
        current = out[0].memory if out else memory
        pin = stated.pin(current, pinned)
        return [*out, pin] if pin is not None else out

    def _remember(self, file: str, note: Note) -> None:
        """A note that a person made: each of its observations is remembered, in the scope it names."""
        if str(note.front.get("type") or "") == "session" or not note.observations:
            return
        scope = str(note.front.get("scope") or "")
        scopes = {memory.scope for memory in self._memories.values()}
        if scope != USER_SCOPE and scope not in scopes:
            self._made.problems.append((file, "it names no `scope` that has memories, nor `scope: user`"))
            return
        for item in note.observations:
            words = self._redactor.redact(item.text).text
            try:
                operations = stated.remember(words, scope, list(self._memories.values()), self._now_ns)
            except ValueError as error:
                self._made.problems.append((file, str(error)))
                continue
            for operation in operations:
                self._memories[operation.memory.id] = operation.memory
            self._made.operations += operations

    def _do(self, operations: Sequence[Operation]) -> Memory:
        for operation in operations:
            self._memories[operation.memory.id] = operation.memory
        self._made.operations += operations
        return operations[-1].memory if len(operations) == 1 else self._memories[operations[0].memory.id]

    def _write(self, memory: Memory, file: str) -> None:
        text = note_of(memory)
        if self._folder.files.get(file) != text:
            self._made.writes[file] = text
        self._made.index[memory.id] = Entry(file, digest_of(text), said_by(memory))


def _wanted(note: Note, memory: Memory) -> tuple[str, str, bool]:
    """(text, status, pinned) as the note says."""
    texts = [item.text for item in note.observations if item.category not in ("why", "status")]
    pinned, status = note.front.get("pinned"), note.front.get("status")
    return (
        texts[0] if texts else memory.text,
        str(status) if isinstance(status, str) and status else memory.status.value,
        pinned if isinstance(pinned, bool) else memory.pinned,
    )
