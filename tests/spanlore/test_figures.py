import pytest

from spanlore import figures


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (None, "–"),
        (850_000_000, "850 ms"),
        (12_340_000_000, "12.3 s"),
        (250 * 10**9, "4 min 10 s"),
        (7500 * 10**9, "2 h 5 min"),
    ],
)
def test_durations_have_the_unit_that_fits(nanoseconds: int | None, text: str) -> None:
    """A duration is read at a glance, whatever its size."""
    assert figures.duration(nanoseconds) == text


@pytest.mark.parametrize(("number", "text"), [(None, "–"), (950, "950"), (12_340, "12.3k"), (4_500_000, "4.5M")])
def test_short_counts(number: int | None, text: str) -> None:
    """Tokens fit into a narrow column."""
    assert figures.short_count(number) == text


def test_sizes_have_the_unit_that_fits() -> None:
    """A thousand bytes are a KB, as disks are sold."""
    shown = [figures.size(value) for value in (None, 999, 12_345, 4.5e6, 5e9, 7e12)]
    assert shown == ["0 B", "999 B", "12.3 KB", "4.5 MB", "5.0 GB", "7000.0 GB"]


def test_unknown_cost_is_not_zero() -> None:
    """No price is no number; a price has a hundredth of a cent."""
    assert figures.cost(None) == "–"
    assert [figures.cost(value) for value in ("0.01234567", 0, 1234.5, 0.000001)] == [
        "$0.0123",
        "$0.00",
        "$1,234.50",
        "<$0.0001",
    ]


def test_text_is_cut_to_one_line() -> None:
    """Line breaks become spaces and what is too long ends in an ellipsis."""
    assert figures.one_line("a\n b", 10) == "a b"
    assert figures.one_line("abcdef", 4) == "abc…"


def test_plurals() -> None:
    """One is one, thousands are separated."""
    assert figures.several(1, "turn") == "1 turn"
    assert figures.several(1234, "turn") == "1,234 turns"


def test_names_of_scopes() -> None:
    """Without the host, or the last folder of a path."""
    assert figures.scope_name("github.com/acme/widgets") == "acme/widgets"
    assert figures.scope_name("path:/home/me/widgets/") == "widgets"
    assert figures.scope_name("user") == "user"


def test_ids_are_told_apart() -> None:
    """By the fewest characters that do, never fewer than asked for."""
    assert figures.distinct(["swe_main-97", "swe_main-73"]) == 10
    assert figures.distinct(["391cb4de-609c", "88817f16-1111"]) == 8
    assert figures.distinct(["ab", "ab"]) == 2
    assert figures.distinct([]) == 8
