"""What is made of the answers."""

from collections.abc import Iterator

import pytest

from spanlore_proxy.uptake.asking import Answer
from spanlore_proxy.uptake.report import report, table

TOKENS = {"none": 100, "block": 190, "hint": 160, "placebo block": 195, "placebo hint": 165}


def answers(wording: str, named: dict[str, int], count: int = 20) -> Iterator[Answer]:
    """`count` lessons, of which the first so many are named in that arm."""
    for arm, hits in named.items():
        moments = {"none": ("task", "failure"), "block": ("task", "failure"), "placebo block": ("task",)}
        for moment in moments.get(arm, ("failure",)):
            for lesson in range(count):
                name = "" if arm == "none" else wording
                yield Answer(lesson, name, arm, moment, "x", lesson < hits, False, False, TOKENS[arm], 0.1)


ANSWERS = [
    *answers("standard", {"none": 0, "block": 10, "hint": 16, "placebo block": 0, "placebo hint": 1}),
    *answers("brief", {"block": 5, "hint": 16, "placebo block": 0, "placebo hint": 0}),
]


def test_shares_exposure_and_differences() -> None:
    """By arm, moment and wording; the first wording is what the others are compared with."""
    result = report(ANSWERS, ["standard", "brief"], "m")
    rows = {row["what"]: row for row in result["rows"]}
    differences = {row["what"]: row for row in result["differences"] if row["wording"] == "standard"}

    assert rows["failure: hint, standard"]["named_share"] == 0.8
    assert rows["failure: none"]["exposed_tokens"] == 0
    assert rows["task: block, brief"]["exposed_tokens"] == 90
    assert differences["failure: hint − none"]["value"] == 0.8
    assert differences["failure: hint − none"]["p"] == pytest.approx(2 / 2**16, rel=0.05)
    assert differences["failure: hint − block"]["value"] == pytest.approx(0.3)
    other = next(row for row in result["differences"] if row["what"] == "task: block: brief − standard")
    assert (other["value"], other["lessons"]) == (-0.25, 20)


def test_what_was_not_asked_is_not_told() -> None:
    """No row and no difference without answers."""
    result = report([answer for answer in ANSWERS if answer.arm == "none"], ["standard"], "m")

    assert [row["what"] for row in result["rows"]] == ["task: none", "failure: none"]
    assert result["differences"] == []


def test_the_table_reads_at_80_columns() -> None:
    """And says what it does not show."""
    text = table(report(ANSWERS, ["standard", "brief"], "m"))

    assert max(map(len, text.splitlines())) <= 80
    assert "80 %" in text
    assert "not that sessions get better" in " ".join(text.split())
