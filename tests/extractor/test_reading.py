import time
from dataclasses import replace

from spanlore.memory.memory import Evidence, EvidenceRole
from spanlore.spans.place import Channel
from spanlore_extractor.mining.session import HumanStep, ToolStep
from spanlore_extractor.reading import (
    changed_sessions,
    harnesses,
    open_evidence,
    present_spans,
    read_sessions,
    recurrences,
    session_states,
)
from support.collecting import Collecting
from support.told import START_NS, Told, failing_tests, steps_of


def everything(session_id: str) -> Told:
    """All kinds of steps, parallel calls, an interruption."""
    told = failing_tests(session_id).human("never use rtk", interrupting=True)
    told.agent("I see.").run("bun run lint", "fine").run("cat a.py", "x = 1", parallel=True)
    return told.rejects("Bash", {"command": "git push"}, "not yet").human("and lint", Channel.QUEUED)


def signature_in(told: Told) -> str:
    """Of its first failure."""
    return next(step.signature for step in steps_of(told) if isinstance(step, ToolStep) and step.signature)


def test_what_capture_sent_is_what_mining_reads(collector: Collecting) -> None:
    """Spans to rows and back: every step, field by field, in order; parallel calls have none among themselves."""
    told = everything("reading-1")
    collector.send(told.spans())
    [read], sent = read_sessions(collector.reader, ["reading-1"]), told.session()
    steps, expected = read.conversations[0].steps, sent.conversations[0].steps

    assert sorted(map(repr, steps)) == sorted(map(repr, expected))
    assert [step.step_index for step in steps] == [step.step_index for step in expected]
    assert replace(read, conversations=()) == replace(sent, conversations=())


def test_delivered_twice_is_read_once(collector: Collecting) -> None:
    """A batch that is sent again changes nothing."""
    told = failing_tests("reading-2")
    collector.send(told.spans())
    collector.send(told.spans())

    assert read_sessions(collector.reader, ["reading-2"]) == [told.session()]


def test_only_what_changed_since(collector: Collecting) -> None:
    """Sessions by when their rows were written, not by when they happened."""
    before_ms = time.time_ns() // 10**6
    time.sleep(0.01)
    collector.send(failing_tests("reading-3").spans())

    [state] = [item for item in changed_sessions(collector.reader, before_ms) if item.session_id == "reading-3"]

    assert state.ingested_ms >= before_ms
    assert START_NS < state.end_time_ns < START_NS + 10**12
    assert session_states(collector.reader, ["reading-3", "nobody"]) == [state]
    assert session_states(collector.reader, []) == []


def test_recurrences_are_cited_by_session(collector: Collecting) -> None:
    """A signature's first failure in each session of the repository; other repositories don't count."""
    for number in (1, 2):
        collector.send(failing_tests(f"again-{number}", START_NS + number * 10**12, repository="again/here").spans())
    collector.send(failing_tests("again-3", repository="again/elsewhere").spans())
    signature = signature_in(failing_tests("x"))

    found = recurrences(collector.reader, [("again/here", signature), ("again/elsewhere", "other")])

    assert list(found) == [("again/here", signature)]
    cited = found["again/here", signature]
    assert [item.session_id for item in cited] == ["again-1", "again-2"]
    assert all(item.role is EvidenceRole.FAILURE and item.quote.startswith("rtk bun run test") for item in cited)
    assert not recurrences(collector.reader, [("", signature)])
    assert not recurrences(collector.reader, [])


def test_evidence_can_be_opened(collector: Collecting) -> None:
    """The call behind a span, with the head of its output."""
    told = failing_tests("reading-4", repository="reading/four")
    collector.send(told.spans())
    signature = signature_in(told)
    [evidence] = recurrences(collector.reader, [("reading/four", signature)])["reading/four", signature]

    opened = open_evidence(collector.reader, [evidence])

    assert opened[evidence.span_id]["exit_code"] == 2
    assert "unrecognized subcommand" in opened[evidence.span_id]["output"]
    assert open_evidence(collector.reader, []) == {}


def test_a_session_tells_its_harness(collector: Collecting) -> None:
    """By id; unknown sessions are left out."""
    collector.send(failing_tests("reading-harness").spans())

    assert harnesses(collector.reader, ["reading-harness", "nobody"]) == {"reading-harness": "claude-code"}
    assert harnesses(collector.reader, []) == {}


def test_which_cited_spans_are_there(collector: Collecting) -> None:
    """Calls and what a person typed; nothing is asked about nothing."""
    told = failing_tests("present-1", repository="example.org/present/app")
    collector.send(told.spans())
    steps = told.session().conversations[0].steps
    spans = [step.span_id for step in steps if isinstance(step, ToolStep | HumanStep)]
    cited = [Evidence("1" * 32, span, "present-1", EvidenceRole.FIX, 1) for span in (*spans, "f" * 16)]

    assert present_spans(collector.reader, cited) == set(spans)
    assert present_spans(collector.reader, []) == frozenset()
