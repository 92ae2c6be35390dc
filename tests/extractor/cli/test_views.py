from dataclasses import replace
from typing import Any

from rich.console import Console, RenderableType

from spanlore.memory.memory import Memory, Status
from spanlore.redaction.redact import Redactor
from spanlore_extractor.cli.views import (
    evidence_to_json,
    listing_order,
    memory_table,
    memory_view,
    report_to_json,
    report_view,
)
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.mining.miner import mine_session
from spanlore_extractor.run import Report
from support.told import START_NS, failing_tests


def report() -> Report:
    mined = mine_session(failing_tests("s").run("make", "make: *** no rule", 2).session(), 600 * 10**9)
    result = consolidate(mined.candidates, [], {}, Redactor(()), START_NS)
    return Report(1, 9, 0, mined.candidates, mined.dropped, result.operations, result.refused)


def memory() -> Memory:
    return report().operations[0].memory


def printed(view: RenderableType) -> str:
    console = Console(width=80, record=True, file=None, highlight=False)
    with console.capture() as captured:
        console.print(view)
    return captured.get()


def test_a_table_of_80_columns() -> None:
    """Every row fits, and the text is whole."""
    text = printed(memory_table([memory()]))

    assert max(map(len, text.splitlines())) <= 80
    assert memory().id in text
    assert "worked instead." in text
    assert "convention" in text


def test_shown_memories_come_first() -> None:
    """Then by scope and newest evidence."""
    active, ended = replace(memory(), status=Status.ACTIVE), replace(memory(), status=Status.FORGOTTEN)

    assert sorted([ended, memory(), active], key=listing_order) == [active, memory(), ended]


def test_why_opens_the_evidence() -> None:
    """The call with the head of its output, and the ids to look it up; the quote where the span is gone."""
    cited = memory().evidence[0]
    call: dict[str, Any] = {
        "tool_name": "Bash",
        "command": "rtk bun",
        "exit_code": 2,
        "output": "\n".join("abcdefghijklmnop"),
    }
    events = [{"at_ns": START_NS, "verb": "added", "actor": "extractor", "reason": "one session"}]
    text = printed(memory_view(memory(), events, {cited.span_id: call}))

    assert "(exit 2)" in text
    assert "4 more lines" in text
    assert cited.span_id in text
    assert "added by extractor: one session" in text
    assert "“bun run test 2>&1”" in text
    assert evidence_to_json(memory(), {cited.span_id: call})[0]["call"] == call


def test_reports() -> None:
    """What was done, or would be, and with a dry run what was left and why."""
    wet, dry = printed(report_view(report(), dry_run=False)), printed(report_view(report(), dry_run=True))

    assert "1 session, 9 spans: 1 added" in wet
    assert "1 would be added" in dry
    assert "not taken" in dry and "not taken" not in wet
    assert [item["what"] for item in report_to_json(report(), False)["dropped"]] == ["failure", "message"]
    assert "nothing changed" in printed(report_view(Report(), dry_run=False))
