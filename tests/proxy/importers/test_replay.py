"""Imported sessions have the wire's spans."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

from spanlore.genai.messages import Text, ToolCall, ToolResult
from spanlore.semconv import lore
from spanlore.spans.place import Workplace
from spanlore.spans.record import SpanRecord
from spanlore.transcripts.events import Answered, Mark, Result, Said, Stopped, Transcript
from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from spanlore_proxy.importers.replay import session_id_of, spans_of
from support.conversing import REMINDER, SESSION, WORKPLACE, Play, call, result, spans, text, user
from support.session_files import SAMPLES, broken

SESSIONS = Path(__file__).parents[4] / "shared" / "data" / "sessions"


def replayed(
    transcript: Transcript, workplace: Workplace = WORKPLACE, *, is_over: bool = True, data: bytes = b""
) -> list[SpanRecord]:
    session = session_id_of(transcript, data)
    groups = spans_of(
        transcript, workplace, lambda text: (text, 0), session_id=session, is_over=is_over, start_ns=10**18
    )
    return [record for group in groups for record in group]


def ids(records: Iterable[SpanRecord]) -> set[tuple[str, str, str, str]]:
    """Kind, trace, span and parent of each."""
    return {
        (one.name.split()[0], one.trace_id.hex(), one.span_id.hex(), (one.parent_span_id or b"").hex())
        for one in records
    }


def line(kind: str, content: Any, second: int, **more: Any) -> bytes:
    """One line of Claude Code's own file."""
    message = {"role": kind, "content": content} | more
    stamp = f"2026-01-01T00:00:{second:02}Z"
    return orjson.dumps({"type": kind, "sessionId": SESSION, "timestamp": stamp, "message": message})


def test_a_captured_session_and_its_file_have_the_same_ids() -> None:
    """Every span of the wire, whatever reminders the wire has besides: parallel tools, a second turn, a refusal."""
    refused = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse just"
    )
    play = Play()
    observed = [
        play.say(user(REMINDER, "fix it")).ask("I look.", call("t1", "make"), call("t2", "ls")),
        play.say(
            user(result("t1", "Exit code 2\nboom", is_error=True), result("t2", "a b"), text(REMINDER))
        ).ask(call("t3", "make test")),
        play.say(user(result("t3", refused, is_error=True))).ask("Done."),
        play.say(user("now commit", REMINDER)).ask("Committed."),
    ]  # fmt: skip
    wire = [record for one in observed for record in spans(one)]

    def answer(id_: str, block: dict[str, Any], second: int) -> bytes:
        return line("assistant", [block], second, id=id_, model="claude-sonnet-4-5", usage={"input_tokens": 10})

    file = b"\n".join(
        (
            line("user", "fix it", 0),
            answer("msg_01", text("I look."), 1),
            answer("msg_01", call("t1", "make"), 2),
            answer("msg_01", call("t2", "ls"), 3),
            line("user", [result("t1", "Exit code 2\nboom", is_error=True)], 4),
            line("user", [result("t2", "a b")], 4),
            answer("msg_02", call("t3", "make test"), 5),
            line("user", [result("t3", refused, is_error=True)], 6),
            answer("msg_03", text("Done."), 7),
            line("user", "now commit", 8),
            answer("msg_04", text("Committed."), 9),
        )
    )
    imported = replayed(read_transcript(file))

    assert len(wire) == 9  # four answers, three tools, two turns
    assert ids(imported) == ids(wire)
    told = {one.span_id: one.attributes["spanlore.outcome"] for one in wire if one.name.startswith("execute_tool")}
    assert {one.span_id: one.attributes.get("spanlore.outcome") for one in imported if one.span_id in told} == told
    # A usage that stands on three lines is the usage of one answer.
    assert [one.attributes.get("gen_ai.usage.input_tokens") for one in imported].count(10) == 4


def test_importing_again_gives_the_same_bytes() -> None:
    """Nothing of a span depends on when it is imported."""
    events = (
        Said(Mark(0), ("go",)),
        Answered(Mark(1), ToolCall("c", "bash", {"command": "make"}), "a"),
        Result(Mark(2), ToolResult("c", "x"), 2),
        Answered(Mark(3), ToolCall("d", "bash", {"command": "ls"}), "b"),
    )
    transcript = Transcript("opencode", "s", events=events)

    assert replayed(transcript) == replayed(transcript)


def test_what_only_the_file_tells_is_told() -> None:
    """OpenCode's exit code, and the words of a refusal."""
    events = (
        Said(Mark(0), ("go",)),
        Answered(Mark(1), ToolCall("c", "bash", {"command": "make"}), "a"),
        Answered(Mark(1), ToolCall("d", "edit", {"filePath": "x"}), "a"),
        Result(Mark(2), ToolResult("c", "boom: no rule"), 2),
        Result(Mark(2), ToolResult("d", "The user rejected permission", True), None, "not that file"),
        Answered(Mark(3), ToolCall("e", "bash", {"command": "ls"}), "b"),
    )
    records = replayed(Transcript("opencode", "s", events=events), Workplace(harness="opencode"))

    tools = {
        one.attributes["gen_ai.tool.call.id"]: one.attributes for one in records if "spanlore.outcome" in one.attributes
    }
    assert (tools["c"]["spanlore.outcome"], tools["c"]["spanlore.tool.exit_code"]) == ("failure", 2)
    assert tools["d"]["spanlore.outcome"] == "rejected"
    assert any("not that file" in str(one.attributes.get(lore.HUMAN_TEXT)) for one in records)


def test_an_open_file_is_told_to_its_last_whole_answer() -> None:
    """The last answer may still grow, and the turn goes on; what is told is a beginning of what will be."""
    events = (
        Said(Mark(0), ("go",)),
        Answered(Mark(1), ToolCall("c", "bash", {"command": "ls"}), "a"),
        Result(Mark(2), ToolResult("c", "x")),
        Answered(Mark(3), ToolCall("d", "bash", {"command": "ls"}), "b"),
    )
    transcript = Transcript("pi", "s", events=events)
    early, late = replayed(transcript, is_over=False), replayed(transcript)

    assert [one.name.split()[0] for one in early] == ["chat"]
    assert ids(early) < ids(late)


def test_a_stopped_answer_is_cut() -> None:
    """As on the wire, where the client goes away."""
    events = (Said(Mark(0), ("go",)), Answered(Mark(1), ToolCall("c", "x", {}), "a"), Stopped(Mark(2)))
    said = (Said(Mark(0), ("go",)), *_answer("I will"), Stopped(Mark(2)), Said(Mark(3), ("no",)), *_answer("ok", 4))

    assert [one.status_code for one in replayed(Transcript("pi", "s", events=events)) if "chat" in one.name] == [0]
    turns = [one for one in replayed(Transcript("pi", "s", events=said)) if one.name.startswith("invoke_agent")]
    assert [one.attributes["spanlore.turn.end"] for one in turns] == ["interrupted", "completed"]


def _answer(words: str, line_: int = 1) -> tuple[Answered]:
    return (Answered(Mark(line_), Text(words), f"answer-{line_}"),)


def test_trajectories_get_a_session_of_their_own() -> None:
    """Two runs of one task are two sessions."""
    transcript = Transcript("mini-swe-agent", "astropy-1")

    assert session_id_of(transcript, b"a") != session_id_of(transcript, b"b")
    assert session_id_of(transcript, b"a").startswith("astropy-1-")
    assert session_id_of(Transcript("pi", "s"), b"a") == "s"


@pytest.mark.skipif(not SESSIONS.exists(), reason="the real sessions are not on this machine")
def test_real_sessions_have_no_span_twice() -> None:
    """Every harness, one file each."""
    for folder in sorted(SESSIONS.iterdir()):
        data = next(path for path in sorted(folder.rglob("*")) if path.is_file()).read_bytes()
        records = replayed(read_transcript(data), data=data)

        assert len({one.span_id for one in records}) == len(records) > 3, folder


@pytest.mark.parametrize("harness", SAMPLES)
def test_malformed_values_never_raise(harness: str) -> None:
    """Whatever a file holds, it is imported or refused as unknown."""
    for lines in broken(SAMPLES[harness]):
        data = b"\n".join(map(orjson.dumps, lines))
        try:
            transcript = read_transcript(data)
        except UnknownFormatError:
            continue
        replayed(transcript, data=data)
