"""The folder of notes on disk, and one round of bringing it into step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from spanlore import private_file
from spanlore.redaction.redact import Redactor
from spanlore.repository.checkout import locate
from spanlore.settings import Paths, Settings
from spanlore_collector.store.api_client import MemoryClient
from spanlore_extractor.notes.markdown import MAX_NOTE_BYTES
from spanlore_extractor.notes.plan import CONFLICT, Entry, Folder, Plan, digest_of, plan_of

MAX_FILES: Final = 50_000


class NotesPlaceError(ValueError):
    """The notes may not lie there. The message says why and what to do."""


def folder_of(settings: Settings, paths: Paths) -> Path:
    """Where the notes lie.

    Raises:
        NotesPlaceError: inside a working tree, and nobody said that this is wanted.
    """
    told = settings.notes.directory
    folder = Path(told).expanduser().absolute() if told else paths.notes_dir
    root = locate(folder).root
    if root is not None and not settings.notes.inside_working_tree:
        raise NotesPlaceError(
            f"{folder} lies inside the working tree {root}. Set notes.directory elsewhere, or "
            "notes.inside_working_tree = true if the notes are to be there."
        )
    return folder


def sync(
    client: MemoryClient, settings: Settings, paths: Paths, now_ns: int, *,
    sessions: Mapping[str, str] | None = None, with_deletions: bool = False, dry_run: bool = False,
) -> Plan:  # fmt: skip
    """One round: what people did to the notes becomes operations, then the notes follow. `sessions` are session notes
    by relative path; one that a person changed is left as it is.

    Raises:
        NotesPlaceError: inside a working tree.
        VersionConflictError: a memory was changed meanwhile; the next round does it.
        OSError: the folder can't be read or written.
    """
    folder = folder_of(settings, paths)
    index = read_index(paths.notes_index)
    plan = plan_of(
        client.memories(), read_folder(folder), index, Redactor(settings.capture.redact), now_ns,
        with_deletions=with_deletions,
    )  # fmt: skip
    if dry_run:
        return plan
    if plan.operations:
        client.apply(plan.operations)
    _write_all(folder, plan.writes)
    for file in plan.removals:
        (folder / file).unlink(missing_ok=True)
    written = _write_sessions(folder, sessions or {}, index)
    write_index(paths.notes_index, {**plan.index, **written})
    return plan


def read_folder(folder: Path) -> Folder:
    """The Markdown files below the folder; links that lead out of it are not followed."""
    if not folder.is_dir():
        return Folder({}, is_new=True)
    files: dict[str, str] = {}
    conflicts: set[str] = set()
    for file in _walk(folder):
        name = file.relative_to(folder).as_posix()
        if name.endswith(".md" + CONFLICT):
            conflicts.add(name)
        elif name.endswith(".md") and file.stat().st_size <= MAX_NOTE_BYTES * 2:
            files[name] = file.read_bytes().decode("utf-8", "replace")
    return Folder(files, frozenset(conflicts))


def read_index(file: Path) -> dict[str, Entry]:
    """What the last round left; what can't be read is no index: then no deletion is believed."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return {str(key): Entry(str(e["file"]), str(e["digest"]), str(e["said"])) for key, e in data.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def write_index(file: Path, index: Mapping[str, Entry]) -> None:
    """Leaves it for the next round."""
    _write(file, json.dumps({key: asdict(entry) for key, entry in sorted(index.items())}))


def _walk(folder: Path) -> Iterable[Path]:
    count = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place) / name
            if file.is_file() and not file.is_symlink():
                count += 1
                if count > MAX_FILES:
                    raise OSError(f"{folder} holds more than {MAX_FILES} files; is it a folder of notes?")
                yield file


def _write_all(folder: Path, writes: Mapping[str, str]) -> None:
    for name, text in sorted(writes.items()):
        _write(folder / name, text)


def _write_sessions(folder: Path, sessions: Mapping[str, str], index: Mapping[str, Entry]) -> dict[str, Entry]:
    kept = {key: entry for key, entry in index.items() if key.startswith("sessions/")}
    for name, text in sorted(sessions.items()):
        file, entry = folder / name, kept.get(name)
        try:
            there = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            there = ""
        is_deleted, is_ours = entry is not None and not there, entry is not None and digest_of(there) == entry.digest
        if is_deleted or (there and not is_ours):
            continue
        _write(file, text)
        kept[name] = Entry(name, digest_of(text), "")
    return kept


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    private_file.replace(file, text.encode())
