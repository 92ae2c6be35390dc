import time
from dataclasses import replace

from spanlore.memory.memory import Evidence, EvidenceRole
from spanlore.spans.place import Channel
from spanlore_extractor.mining.session import HumanStep, ToolStep
from spanlore_extractor.reading import (
    Recurrences,
    changed_sessions,
    harnesses,
    open_evidence,
    present_spans,
    read_sessions,
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

    found = Recurrences(collector.reader).of([("again/here", signature), ("again/elsewhere", "other")])

    assert list(found) == [("again/here", signature)]
    cited = found["again/here", signature]
    assert [item.session_id for item in cited] == ["again-1", "again-2"]
    assert all(item.role is EvidenceRole.FAILURE and item.quote.startswith("rtk bun run test") for item in cited)
    assert not Recurrences(collector.reader).of([("", signature)])
    assert not Recurrences(collector.reader).of([])


def test_recurrences_are_looked_up_once_in_a_run(collector: Collecting) -> None:
    """However many batches ask: the first for its own, the second for all that came back, which is the same."""
    for number in (1, 2):
        for scope in ("once/a", "once/b", "once/c"):
            collector.send(failing_tests(f"{scope}-{number}", START_NS + number * 10**12, repository=scope).spans())
    signature = signature_in(failing_tests("x"))
    scopes, together = ("once/a", "once/b", "once/c", "once/a"), Recurrences(collector.reader)
    told, rows = [], []
    for scope in scopes:
        before = collector.reader.rows_read
        told.append(together.of([(scope, signature)]))
        rows.append(collector.reader.rows_read - before)

    assert [bool(count) for count in rows] == [True, True, False, False]
    assert told == [Recurrences(collector.reader).of([(scope, signature)]) for scope in scopes]
    assert all(len(found[scope, signature]) == 2 for scope, found in zip(scopes, told, strict=True))


def test_a_batch_reads_its_own_months(collector: Collecting) -> None:
    """Rows of other months are not looked at, only the sums of a session, which are one row each."""
    year_ns = 366 * 86_400 * 10**9
    told = failing_tests("months-0", START_NS - 20 * year_ns)
    collector.send(told.spans())

    def rows() -> int:
        before = collector.reader.rows_read
        assert read_sessions(collector.reader, ["months-0"]) == [told.session()]
        return collector.reader.rows_read - before

    alone = rows()
    for number in range(1, 6):
        collector.send(failing_tests(f"months-{number}", START_NS - number * year_ns).spans())

    assert rows() <= alone + 5


def test_evidence_can_be_opened(collector: Collecting) -> None:
    """The call behind a span, with the head of its output."""
    told = failing_tests("reading-4", repository="reading/four")
    collector.send(told.spans())
    signature = signature_in(told)
    [evidence] = Recurrences(collector.reader).of([("reading/four", signature)])["reading/four", signature]

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
