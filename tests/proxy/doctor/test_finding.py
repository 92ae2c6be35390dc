"""Findings: how they are told, weighed and mended."""

from pathlib import Path

from spanlore_proxy.doctor.finding import EXIT_CODES, Finding, Severity, mended, render, worst
from support.snapshots import same

LONG = "a word that is repeated until the line has to be broken somewhere " * 3


def test_the_worst_finding_decides_the_exit_code() -> None:
    """Notes are well, warnings are told apart from what does not work."""
    ok, note = Finding("a", Severity.OK, "x"), Finding("b", Severity.NOTE, "x")
    warning, error = Finding("c", Severity.WARNING, "x"), Finding("d", Severity.ERROR, "x")

    assert EXIT_CODES[worst([])] == 0
    assert EXIT_CODES[worst([ok, note])] == 0
    assert EXIT_CODES[worst([note, warning])] == 4
    assert EXIT_CODES[worst([error, warning])] == 1


def test_it_reads_at_80_columns() -> None:
    """No line is longer, each finding says what to do under it, and the last line counts."""
    shown = render(
        [Finding("ports", Severity.ERROR, LONG, "do " + LONG, lambda: "done"), Finding("ca", Severity.OK, "fine")]
    )

    assert max(map(len, shown.splitlines())) <= 80
    assert shown.startswith("FAIL  ports ")
    assert "→ do a word" in shown
    assert shown.endswith("1 failed, 0 warnings, 1 ok; `spanlore doctor --fix` mends 1")
    assert render([Finding("key", Severity.WARNING, "none")]).endswith("0 failed, 1 warning, 0 ok")


def test_what_cannot_be_mended_does_not_keep_the_rest() -> None:
    """A failing fix is a line; those after it are tried; what has no fix is left out."""

    def fail() -> str:
        raise OSError("read-only")

    findings = [Finding("a", Severity.ERROR, "x", "", fail), Finding("b", Severity.ERROR, "x")]
    findings.append(Finding("c", Severity.ERROR, "x", "", lambda: "done"))

    assert mended(findings) == ["a: could not be mended: read-only", "c: done"]
    assert [finding.to_json()["fixable"] for finding in findings] == [True, False, True]


def test_it_is_as_it_was() -> None:
    """Letter by letter: every severity, wrapped, with what to do."""
    findings = [
        Finding("ports", Severity.OK, "listening: proxy 7717, collector 7718, clickhouse 7719, web page 7720"),
        Finding("agents", Severity.NOTE, "no agent that spanlore knows is on the PATH", "spanlore run -- AGENT"),
        Finding("spool", Severity.WARNING, f"12 records wait, the oldest for 6 min 2 s; {LONG}", "look into proxy.log"),
        Finding("daemon", Severity.ERROR, "the daemon is not running", "spanlore up --detach", lambda: "started"),
    ]

    same(render(findings) + "\n", Path(__file__).with_name("snapshots") / "doctor.txt")
