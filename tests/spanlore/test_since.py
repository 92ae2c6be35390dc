"""Times and lengths of time as people type them."""

from datetime import UTC, datetime

import pytest

from spanlore.since import length_ns, since_ns

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NOW_NS = int(NOW.timestamp()) * 10**9


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90m", datetime(2026, 11, 30, 10, 30, tzinfo=UTC)),
        ("12H", datetime(2026, 11, 30, 0, 0, tzinfo=UTC)),
        (" 7 d ", datetime(2026, 11, 23, 12, 0, tzinfo=UTC)),
        ("2w", datetime(2026, 11, 16, 12, 0, tzinfo=UTC)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T08:00+02:00", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ],
)
def test_durations_and_dates(text: str, expected: datetime) -> None:
    """Ago, or at a date of that zone."""
    assert since_ns(text, NOW_NS, UTC) == int(expected.timestamp()) * 10**9


def test_nothing_is_the_beginning() -> None:
    """And what is neither is told."""
    assert since_ns("", NOW_NS) == 0
    for text in ("yesterday", "7x", "d", "-1d", "0001-01-01"):
        with pytest.raises(ValueError, match="neither like"):
            since_ns(text, NOW_NS)


def test_a_length_is_no_date() -> None:
    """`--for` takes a length only."""
    assert (length_ns("90 m"), length_ns("2026-11-30"), length_ns("")) == (5_400 * 10**9, None, None)
