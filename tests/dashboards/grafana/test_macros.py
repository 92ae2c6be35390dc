"""Variables and macros, as the datasource expands them."""

import pytest

from spanlore_dashboards.grafana.macros import ALL, Looking, expanded

AT = Looking(100, 200, 60, {"repository": ALL, "agent": ("a", "it's"), "session": "s-1"})


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("$__timeFilter(t)", "t >= toDateTime(100) AND t <= toDateTime(200)"),
        ("$__timeInterval(t) AS time", "toStartOfInterval(toDateTime(t), INTERVAL 60 second) AS time"),
        ("$__conditionalAll(r IN (${repository:singlequote}), $repository)", "1=1"),
        ("$__conditionalAll(a IN (${agent:singlequote}, 'user'), $agent)", "a IN ('a','it\\'s', 'user')"),
        ("id = ${session:singlequote}", "id = 's-1'"),
        ("${session}", "s-1"),
    ],
)
def test_expansion(sql: str, expected: str) -> None:
    """One time range, one interval; everything, several or one chosen."""
    assert expanded(sql, AT) == expected


@pytest.mark.parametrize("sql", ["$__unknown(t)", "${nothing}", "$repository"])
def test_what_is_not_known_is_an_error(sql: str) -> None:
    """A query that would fail in Grafana fails here."""
    with pytest.raises(ValueError, match=r"repository|nothing|unknown"):
        expanded(sql, AT)
