from dataclasses import replace
from io import StringIO
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source, Status
from spanlore_proxy.demo import report
from spanlore_proxy.demo.findings import Check, Figures, Findings, Insertion, ToolRow
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.demo.story import Session

SESSION = Session("run 1, without a memory", 0, "5e551011-0000")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage("http://127.0.0.1:1", keep=tmp_path)


def findings() -> Findings:
    evidence = Evidence("f" * 32, "ee01020304050607", SESSION.id, EvidenceRole.STATEMENT, 0, "always [make] check")
    memory = Memory(
        id="m-0123456789ab",
        kind=Kind.CORRECTION,
        source=Source.CORRECTION,
        status=Status.ACTIVE,
        scope="github.com/example/tally",
        text="Run the tests with `make check`.",
        evidence=(evidence,),
    )
    return Findings(
        span_count=12,
        figures=(Figures(SESSION, 4, 3, 1, 12_345, 10_000, 67, None, 412),),
        tools=(ToolRow(SESSION, "python3 -m unittest", "failure", 1, "ModuleNotFoundError"),),
        memories=(memory,),
        insertions=(Insertion(SESSION, "bb00000000000000", 2, 99, "end of the system prompt", b'{"text":"[x]"}'),),
        checks=(Check("run 2 did not fail once", False, "1 tool call"),),
    )


def test_report_shows_every_part(stage: Stage) -> None:
    """Captured, learned with evidence, injected bytes, cost, checks and where to look, at 80 columns."""
    out = StringIO()
    report.show(findings(), stage, Console(file=out, width=80, highlight=False))
    text = out.getvalue()

    for word in ("12 spans", "exit 1", "m-0123456789ab", "always [make] check", '{"text":"[x]"}', "12,345", "412 B"):
        assert word in text
    assert "✗ run 2 did not fail once" in text
    assert f"SPANLORE_STATE_DIR={stage.paths.state_dir}" in text


def test_what_is_long_goes_on_below_its_beginning(stage: Stage) -> None:
    """A memory, an injected text and a check that need two lines: the second stands as far in as the first."""
    found = findings()
    long = replace(
        found,
        memories=(replace(found.memories[0], text="a memory of words " * 8),),
        insertions=(replace(found.insertions[0], data=b"an insertion of words " * 8),),
        checks=(Check("a claim of words " * 8, True, "1 tool call"),),
    )
    out = StringIO()
    report.show(long, stage, Console(file=out, width=80, highlight=False))
    lines = out.getvalue().splitlines()

    for piece in ("a memory of words", "an insertion of words", "a claim of words"):
        at = next(n for n, line in enumerate(lines) if piece in line)

        assert lines[at + 1].startswith("    ")
        assert lines[at + 1].strip()


def test_report_as_json(stage: Stage) -> None:
    """For scripts all of it is one object, with units in the names."""
    data = orjson.loads(orjson.dumps(report.to_json(findings(), stage)))

    assert data["is_good"] is False
    assert data["sessions"][0]["injected_bytes_per_request"] == 412
    assert data["insertions"][0]["offset_bytes"] == 99
