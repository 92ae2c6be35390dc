"""The benchmark of the request log."""

from __future__ import annotations

from spanlore_proxy.bench import history


def test_a_long_conversation_takes_no_more_for_what_is_said() -> None:
    """Of eight times as many messages, for each byte of content."""
    rows = [history.row_of(messages) for messages in (100, 800)]

    assert [row["requests"] for row in rows] == [50, 400]
    assert history.judge(rows)["within_budget"]


def test_growth_breaks_the_budget() -> None:
    """What grows with requests times history is told."""
    short, long = ({"what": "x", "x_content": value} for value in (1.0, 1.3))

    assert not history.judge([short, long])["within_budget"]
