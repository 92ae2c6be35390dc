"""Importing files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from spanlore.redaction.redact import Redactor
from spanlore.spans.record import SpanRecord
from spanlore_proxy.capture.redacting import redact_with
from spanlore_proxy.importers.collecting import Known
from spanlore_proxy.importers.importing import SETTLED_NS, Imported, Memory, Rules, import_all, import_file

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RULES = Rules(redact=redact_with(Redactor()))
LATER = 2 * SETTLED_NS


class Shelf:
    """A store that remembers what it was given."""

    def __init__(self) -> None:
        self.records: dict[str, SpanRecord] = {}

    def known(self, session_id: str) -> Known:
        mine = [one for one in self.records.values() if one.attributes["spanlore.session.id"] == session_id]
        captured = (one.trace_id.hex() for one in mine if one.attributes["spanlore.source"] == "wire")
        return Known(frozenset(one.span_id.hex() for one in mine), frozenset(captured))

    def session_of(self, response_ids: Sequence[str]) -> str:
        sessions = (
            str(one.attributes["spanlore.session.id"])
            for one in self.records.values()
            if one.attributes.get("gen_ai.response.id") in response_ids
        )
        return next(sessions, "")

    def export(self, records: Sequence[SpanRecord]) -> int:
        before = len(self.records)
        self.records |= {one.span_id.hex(): one for one in records}
        return len(self.records) - before


def session(folder: Path, turns: int = 1) -> Path:
    """pi's, with a secret in a command, and a torn line at the end."""
    entries: list[object] = [{"type": "session", "id": "s1", "cwd": str(folder), "version": 3}]
    for turn in range(turns):
        stamp = f"2026-01-01T00:{turn:02}:00Z"
        call = {"type": "toolCall", "id": f"t{turn}", "name": "bash", "arguments": {"command": f"echo {SECRET}"}}
        result = {"role": "toolResult", "toolCallId": f"t{turn}", "content": [{"text": SECRET}], "isError": False}
        for message in (
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [call]},
            result,
            {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        ):
            entries.append({"type": "message", "timestamp": stamp, "message": message})
    path = folder / "s.jsonl"
    path.write_text("\n".join(map(json.dumps, entries)) + '\n{"type": "mess')
    return path


def done(file: Path, shelf: Shelf | None, agent: str = "", rules: Rules = RULES, after_ns: int = LATER) -> Imported:
    return import_file(file, agent, rules, shelf, file.stat().st_mtime_ns + after_ns)


def test_twice_is_once(tmp_path: Path) -> None:
    """The second import finds everything there; malformed lines are counted."""
    shelf, file = Shelf(), session(tmp_path)
    first, again = done(file, shelf), done(file, shelf)

    assert (first.spans, first.new_spans, first.malformed_lines) == (4, 4, 1)
    assert (again.spans, again.new_spans) == (4, 0)


def test_a_growing_file_adds_what_is_new(tmp_path: Path) -> None:
    """While it is written its last answer waits; in the end everything is there, as of a whole import."""
    shelf, whole = Shelf(), Shelf()
    early = done(session(tmp_path), shelf, after_ns=0)
    done(session(tmp_path, turns=2), shelf)
    done(session(tmp_path, turns=2), whole)

    assert (early.is_open, early.new_spans) == (True, 1)
    assert shelf.records.keys() == whole.records.keys() and len(whole.records) == 8


def test_what_the_wire_saw_is_not_told_again(tmp_path: Path) -> None:
    """Codex keeps no ids of answers: those of a turn that was captured are passed over; a turn that was not is told."""
    shelf, file = Shelf(), session(tmp_path, turns=2)
    done(file, shelf)
    first, *_ = sorted(
        (one for one in shelf.records.values() if one.kind.value == "Client"), key=lambda one: one.start_time_ns
    )
    captured = replace(first, span_id=b"captured", attributes={**first.attributes, "spanlore.source": "wire"})
    wire = Shelf()
    wire.export([captured])

    assert done(file, wire).new_spans == 6  # of eight, without the first turn's two answers


def test_a_nameless_session_is_found_by_its_answers(tmp_path: Path) -> None:
    """pi tells the API no session; the answers' ids say which captured one the file belongs to."""
    shelf, file = Shelf(), session(tmp_path)
    file.write_text(file.read_text().replace('"role": "assistant"', '"role": "assistant", "responseId": "resp_1"'))
    done(file, shelf)
    taken = next(one for one in shelf.records.values() if "gen_ai.response.id" in one.attributes)
    wire = Shelf()
    wire.export([replace(taken, attributes={**taken.attributes, "spanlore.session.id": "s-of-the-wire"})])
    done(file, wire)

    assert {one.attributes["spanlore.session.id"] for one in wire.records.values()} == {"s-of-the-wire"}


def test_nothing_secret_is_stored(tmp_path: Path) -> None:
    """Commands and outputs are redacted like captured ones."""
    shelf = Shelf()
    done(session(tmp_path), shelf)

    stored = repr(shelf.records)
    assert SECRET not in stored and "[redacted:" in stored


def test_what_the_settings_forbid(tmp_path: Path) -> None:
    """A repository that is not captured is not imported; metadata only is without words."""
    shelf, file = Shelf(), session(tmp_path)

    assert done(file, shelf, rules=replace(RULES, is_off=lambda workplace: True)).skipped
    assert not shelf.records
    done(file, shelf, rules=replace(RULES, is_metadata_only=True))
    assert shelf.records and "redacted" not in repr(shelf.records)


def test_files_that_are_none(tmp_path: Path) -> None:
    """Told, never raised: another agent's, nobody's, none at all."""
    other = tmp_path / "x.jsonl"
    other.write_text("hello")

    assert "session of pi" in done(session(tmp_path), Shelf(), agent="codex").skipped
    assert "no session" in done(other, Shelf()).skipped
    assert "can't be read" in import_file(tmp_path / "gone", "", RULES, Shelf(), 0).skipped


def test_without_a_store_it_only_tells(tmp_path: Path) -> None:
    """The dry run."""
    found = done(session(tmp_path), None)

    assert (found.spans, found.new_spans, found.harness) == (4, 0, "pi")


def test_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    """Nor after a restart; one that changed is."""
    file, memory = session(tmp_path), tmp_path / "imports.json"

    def run() -> list[str]:
        now = file.stat().st_mtime_ns + LATER
        return [one.skipped for one in import_all([file], "", RULES, Shelf(), Memory.load(memory), lambda: now)]

    assert [run(), run()] == [[""], ["unchanged"]]
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))
    assert run() == [""]
    memory.write_text("[torn")
    assert run() == [""]
