import time

import pytest
import typer

from spanlore_extractor.cli.daemon import time_of


@pytest.mark.parametrize(("word", "seconds"), [("90m", 5400), ("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600)])
def test_so_long_ago(word: str, seconds: int) -> None:
    """Minutes, hours, days, weeks."""
    assert abs(time.time_ns() - time_of(word, "--since") - seconds * 10**9) < 60 * 10**9


def test_dates_and_times() -> None:
    """In ISO's form, in local time unless it says another; anything else is a mistake in usage."""
    assert time_of("2026-11-30T00:00+00:00", "--since") == 1_795_996_800 * 10**9
    assert time_of("2026-11-30", "--since") < time_of("2026-12-01", "--since")
    with pytest.raises(typer.Exit):
        time_of("soon", "--since")
