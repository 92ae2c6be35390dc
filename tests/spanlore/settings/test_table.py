"""The table of settings in docs/settings.md."""

import pytest

from spanlore.settings.settings import describe
from spanlore.settings.table import settings_table, with_table


def test_a_row_a_setting() -> None:
    """Every setting has its row, with variable, key, default and meaning."""
    lines = settings_table().splitlines()

    assert len(lines) == 2 + len(describe())
    assert "| `SPANLORE_PROXY_PORT` | `proxy.port` | 7717 |" in settings_table()


def test_only_the_part_between_the_markers_is_renewed() -> None:
    """The rest of the text stays; doing it again changes nothing."""
    text = with_table("before\n<!-- settings -->\nold\n<!-- /settings -->\nafter\n")

    assert text == f"before\n<!-- settings -->\n{settings_table()}\n<!-- /settings -->\nafter\n"
    assert with_table(text) == text


@pytest.mark.parametrize("text", ["", "<!-- settings -->", "<!-- /settings --><!-- settings -->"])
def test_markers_must_be_there(text: str) -> None:
    """A file without its place for the table is an error."""
    with pytest.raises(ValueError, match="expected one"):
        with_table(text)
