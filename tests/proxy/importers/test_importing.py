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
from spanlore_proxy.importers.captured import Prompt
from spanlore_proxy.importers.collecting import Known, StoredAnswer
from spanlore_proxy.importers.importing import SETTLED_NS, Imported, Memory, Rules, import_all, import_file

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RULES = Rules(redact=redact_with(Redactor()))
LATER = 2 * SETTLED_NS


class Shelf:
    """A store that remembers what it was given."""

    def __init__(self) -> None:
        self.records: dict[str, SpanRecord] = {}
        self.typed: list[Prompt] = []

    def known(self, session_id: str) -> Known:
        mine = [one for one in self.records.values() if one.attributes["spanlore.session.id"] == session_id]
        captured = (one.trace_id.hex() for one in mine if one.attributes["spanlore.source"] == "wire")
        calls = (str(one.attributes.get("gen_ai.tool.call.id", "")) for one in mine)
        return Known(frozenset(one.span_id.hex() for one in mine), frozenset(captured), frozenset(filter(None, calls)))

    def answers(self, response_ids: Sequence[str]) -> list[StoredAnswer]:
        return [
            StoredAnswer(
                str(one.attributes["spanlore.session.id"]),
                str(one.attributes["gen_ai.response.id"]),
                one.attributes["spanlore.source"] == "wire",
            )
            for one in self.records.values()
            if one.attributes.get("gen_ai.response.id") in response_ids
        ]

    def prompts(self, harness: str, low_ns: int, high_ns: int) -> list[Prompt]:
        return [one for one in self.typed if low_ns <= one.time_ns <= high_ns]

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


def with_ids(file: Path) -> Path:
    """pi's session file with the ids that the API gave its answers."""
    numbers = iter(range(1, 100))
    lines = [
        line.replace('"role": "assistant"', f'"role": "assistant", "responseId": "resp_{next(numbers)}"')
        if '"assistant"' in line
        else line
        for line in file.read_text().split("\n")
    ]
    file.write_text("\n".join(lines))
    return file


def captured(shelf: Shelf, *turns: int) -> Shelf:
    """What the wire would have stored of some turns of a session that the API knows no name of: other ids."""
    wire = Shelf()
    mine = sorted(shelf.records.values(), key=lambda one: (one.start_time_ns, one.span_id))
    traces = list(dict.fromkeys(one.trace_id for one in mine))
    for number, one in enumerate(one for one in mine if traces.index(one.trace_id) in turns):
        attributes = {**one.attributes, "spanlore.session.id": "s-wire", "spanlore.source": "wire"}
        wire.export([replace(one, span_id=bytes([number + 1] * 8), trace_id=bytes(16), attributes=attributes)])
    return wire


def test_a_nameless_session_is_found_by_its_answers(tmp_path: Path) -> None:
    """pi tells the API no session; the answers' ids say which captured one the file belongs to. What was captured is
    not told again, though its spans have other ids; what was not joins that session."""
    shelf, file = Shelf(), with_ids(session(tmp_path, turns=2))
    done(file, shelf)
    all_of_it, first_turn = captured(shelf, 0, 1), captured(shelf, 0)

    assert done(file, all_of_it).new_spans == 0
    assert done(file, first_turn).new_spans == 4
    assert {one.attributes["spanlore.session.id"] for one in first_turn.records.values()} == {"s-wire"}


def test_a_session_imported_first_and_captured_later_is_not_doubled(tmp_path: Path) -> None:
    """What the import told stands under the file's own session, what came later under the wire's: a further import
    finds both."""
    both, whole = Shelf(), Shelf()
    done(with_ids(session(tmp_path)), both)
    grown = with_ids(session(tmp_path, turns=2))
    done(grown, whole)
    both.export(list(captured(whole, 1).records.values()))

    assert done(grown, both).new_spans == 0


def gemini(folder: Path) -> Path:
    """A chat of two prompts, an hour apart, each answered after one tool call."""
    messages: list[object] = []
    for turn, hour in enumerate(("10", "11")):
        call = {"id": f"ls-{turn}", "name": "run_shell_command", "args": {"command": "ls"}, "status": "success"}
        stamp = f"2026-01-01T{hour}:00:0"
        messages += [
            {"id": f"u{turn}", "timestamp": f"{stamp}0Z", "type": "user", "content": f"list {turn}"},
            {"id": f"c{turn}", "timestamp": f"{stamp}2Z", "type": "gemini", "content": "", "toolCalls": [call]},
            {"id": f"a{turn}", "timestamp": f"{stamp}4Z", "type": "gemini", "content": "done"},
        ]
    file = folder / "session.json"
    file.write_text(json.dumps({"sessionId": "g1", "projectHash": "p", "messages": messages}))
    return file


def test_what_the_wire_saw_of_a_nameless_agent_is_told_by_the_prompts(tmp_path: Path) -> None:
    """Gemini CLI with a key: captured turns are passed over, the others join the captured session; the same words at
    another time are another turn; while the file is written nothing of it is taken."""
    file, alone, later = gemini(tmp_path), Shelf(), Shelf()
    assert done(file, alone).new_spans == 8
    first_ns = min(one.start_time_ns for one in alone.records.values())
    later.typed = [Prompt("list 0", first_ns + 600 * 10**9, "s-wire")]
    assert done(file, later).new_spans == 8

    both = Shelf()
    both.typed = [Prompt("list 0", first_ns + 10**9, "s-wire"), Prompt("list 1", first_ns + 3600 * 10**9, "s-wire")]
    assert done(file, both).new_spans == 0

    one = Shelf()
    one.typed = [Prompt("list 0", first_ns + 10**9, "s-wire")]
    assert done(file, one).new_spans == 4
    assert {record.attributes["spanlore.session.id"] for record in one.records.values()} == {"s-wire"}
    assert done(file, Shelf(), after_ns=0).skipped


def test_a_sub_agents_own_file_hangs_under_the_call_that_started_it(tmp_path: Path) -> None:
    """Claude Code keeps sub-agents in files of their own; only theirs is told of such a file, with its parent."""

    def entry(kind: str, content: object, second: int, **more: object) -> str:
        message = {"role": kind, "content": content, **({"id": f"m{second}"} if kind == "assistant" else {})}
        stamp = f"2026-01-01T00:00:{second:02}Z"
        return json.dumps({"type": kind, "sessionId": "c1", "timestamp": stamp, "message": message, **more})

    task = {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "count the files", "description": "x"}}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "seven"}
    main = tmp_path / "c1.jsonl"
    main.write_text("\n".join([
        entry("user", "how many files?", 1), entry("assistant", [task], 2), entry("user", [answer], 9),
        entry("assistant", [{"type": "text", "text": "seven"}], 10),
    ]))  # fmt: skip
    side = {"isSidechain": True, "agentId": "a7"}
    folder = tmp_path / "c1" / "subagents"
    folder.mkdir(parents=True)
    own = folder / "agent-a7.jsonl"
    own.write_text("\n".join([
        entry("user", "count the files", 3, **side),
        entry("assistant", [{"type": "text", "text": "seven"}], 4, **side),
    ]))  # fmt: skip
    alone, beside = Shelf(), Shelf()
    done(main, alone)
    launched = next(one for one in alone.records.values() if one.name.startswith("execute_tool"))

    found = done(own, beside)

    root = next(one for one in beside.records.values() if one.name.startswith("invoke_agent"))
    assert found.new_spans == 2
    assert not beside.records.keys() & alone.records.keys()
    assert (root.parent_span_id, root.trace_id) == (launched.span_id, launched.trace_id)


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
