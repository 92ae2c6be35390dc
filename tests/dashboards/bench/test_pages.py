"""How pages are timed and judged; the whole command runs in `test_command.py`."""

import pytest

from spanlore_dashboards.bench.pages import BUDGETS, Asked, Page, Seen, report, table

FACTS = {"sessions": 10_000, "long_spans": 3_000, "runs": 5}
LIST, SESSION = Page("sessions", "/sessions", "list"), Page("long session: timeline", "/sessions/x", "session")


def test_each_page_has_its_own_budget() -> None:
    """A list is to be answered, a long session to be seen; the CPU of page and collector is told together."""
    asked = [Asked(LIST, 20, 10, 40, 35_000), Asked(SESSION, 150, 80, 90, 150_000)]
    result = report(asked, [Seen(400, 60, 900), Seen(300, 250, 5_000)], FACTS)

    assert [(row["cpu_ms"], row["browser_cpu_ms"]) for row in result["rows"]] == [(50, 60), (170, 250)]
    assert result["within_budget"] is True


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        (Asked(LIST, BUDGETS["list_p50_ms"] + 1, 1, 1, 1_000), None),
        (Asked(SESSION, BUDGETS["session_shown_ms"] + 1, 1, 1, 1_000), None),
        (Asked(SESSION, 20, 1, 1, 1_000), Seen(BUDGETS["session_shown_ms"] + 1, 1, 9)),
    ],
)
def test_one_page_over_its_budget_is_over_budget(asked: Asked, seen: Seen | None) -> None:
    """It is marked."""
    result = report([asked], None if seen is None else [seen], FACTS)

    assert result["within_budget"] is False
    assert table(result).splitlines()[-1].endswith("!")


def test_the_table_fits() -> None:
    """In 80 columns, with and without a browser."""
    for seen in (None, [Seen(1_234, 2_345, 9)]):
        result = report([Asked(SESSION, 1_234, 1_000, 1_000, 9_999_000)], seen, FACTS)
        assert max(map(len, table(result).splitlines())) <= 80
