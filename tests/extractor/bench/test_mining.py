from spanlore_extractor.bench.mining import BUDGETS, measure, table


def test_a_small_store() -> None:
    """What was sent is mined once; the next run finds nothing to do; lessons became memories."""
    result = measure([500])
    row, growth = result["rows"]

    assert (row["spans"], row["sessions"], row["idle_sessions"]) == (9 * 52, 9, 0)
    assert row["candidates"] >= row["memories"] > 0
    assert row["spans_per_s"] > 0 and growth["ratio"] == 1.0
    assert result["budgets"] == BUDGETS
    assert max(map(len, table(result).splitlines())) <= 80


def test_copies_are_sessions_like_others() -> None:
    """Of a larger store only some sessions are sent; their copies are mined as sessions of their own."""
    row, _ = measure([800], sent_spans=200)["rows"]

    assert (row["spans"], row["sessions"], row["idle_sessions"]) == (5 * 3 * 52, 5 * 3, 0)
    assert row["memories"] > 0
