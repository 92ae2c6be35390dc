from typing import Any

import orjson
import pytest

from spanlore.genai.messages import Text, ToolCall, ToolResult
from spanlore.redaction.redact import Redactor
from spanlore.transcripts.events import Answered, Event, Mark, Result, Said, Transcript
from spanlore.transcripts.reading import UnknownFormatError, read_transcript
from spanlore_extractor.evaluation.building import session_of
from spanlore_extractor.evaluation.findings import ONCE, find_all
from support.session_files import SAMPLES, broken


def ran(line: int, command: str, text: str, *, fails: bool = False, name: str = "Bash") -> tuple[Event, Event]:
    key = "command" if name == "Bash" else "file_path"
    call = Answered(Mark(line, f"u{line}"), ToolCall(f"t{line}", name, {key: command}), f"a{line}")
    return call, Result(Mark(line + 1), ToolResult(f"t{line}", text, fails or None))


def found(*events: Event, with_left: bool = False) -> list[dict[str, Any]]:
    session = session_of(Transcript("claude-code", "s", events=events), "github.com/a/b")
    return find_all(session, {0: "u0"}, Redactor(), with_left=with_left)


def test_a_failure_and_its_fix() -> None:
    """Ids and lines are the file's own."""
    [one] = found(
        *ran(0, "rtk bun test", "Exit code 2\nerror: unrecognized subcommand 'bun'", fails=True),
        *ran(2, "bun test", "ok"),
    )

    assert (one["kind"], one["failed_call_id"], one["fix_call_id"], one["type"]) == (
        "failure_delta",
        "t0",
        "t2",
        "usage",
    )
    assert (one["at"], one["dropped"], one["trivial"]) == ({"line": 0, "uuid": "u0"}, False, False)
    assert [item["line"] for item in one["evidence"]] == [0, 2]
    assert "unrecognized subcommand" in one["quote"]
    assert (one["gate"], one["gate_reason"]) == ("candidate", "one session; waits for another")


def test_what_the_gate_says_stands_apart() -> None:
    """A code fix is found, so the detector did not drop it; the gate lets it wait for a second session."""
    failing = "Exit code 1\n--- FAIL: TestTheThing (0.01s)\n    thing_test.go:3: expected 'a', got 'b'"
    [one] = found(
        *ran(0, "go test ./...", failing, fails=True),
        *ran(2, "/r/a.go", "ok", name="Write"),
        *ran(4, "go test ./...", "ok"),
    )

    assert (one["type"], one["dropped"], one["drop_reason"]) == ("code_fix", False, None)
    assert (one["gate"], one["gate_reason"]) == ("dropped", ONCE)


def test_every_call_of_a_chain_is_a_finding() -> None:
    """They share the fix."""
    text = "Exit code 2\nerror: unrecognized subcommand 'bun'"
    both = found(
        *ran(0, "rtk bun test", text, fails=True), *ran(2, "rtk bun test", text, fails=True), *ran(4, "bun test", "ok")
    )

    assert [(one["failed_call_id"], one["fix_call_id"]) for one in both] == [("t0", "t4"), ("t2", "t4")]


def test_words() -> None:
    """Corrections with the rule that found them; what is to be remembered is told as such, too."""
    done = Answered(Mark(0), Text("Done."), "a")
    one, other, _ = found(
        done, Said(Mark(1), ("no, use tabs in that file",)), done, Said(Mark(3), ("remember that we use just",))
    )

    assert (one["kind"], one["at"]["line"], one["quote"]) == ("correction", 1, "no, use tabs in that file")
    assert "negates" in one["rule"]
    assert (other["kind"], other["quote"], other["type"]) == ("explicit", "we use just", "standing rule")
    assert (one["dropped"], one["gate"], other["gate"]) == (False, "dropped", "active")


def test_what_was_left_is_told_when_asked_for() -> None:
    """With its reason, and marked as dropped."""
    events = (*ran(0, "make", "Exit code 2\nboom", fails=True), Said(Mark(2), ("ok, commit it",)))

    assert found(*events) == []
    left = found(*events, with_left=True)
    assert [(one["kind"], one["dropped"], bool(one["drop_reason"]), one["gate"]) for one in left] == [
        ("failure_delta", True, True, None),
        ("correction", True, True, None),
    ]


@pytest.mark.parametrize("harness", SAMPLES)
def test_malformed_values_never_raise(harness: str) -> None:
    """Whatever a file holds, findings are told or it is refused as unknown."""
    redactor = Redactor()
    for lines in broken(SAMPLES[harness]):
        try:
            transcript = read_transcript(b"\n".join(map(orjson.dumps, lines)))
        except UnknownFormatError:
            continue
        find_all(session_of(transcript, "a/b"), {}, redactor, with_left=True)
