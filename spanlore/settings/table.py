"""The table of settings, generated: `python -m spanlore.settings docs/settings.md` puts it between its markers."""

from __future__ import annotations

from typing import Final

from spanlore.settings.settings import describe

BEGIN: Final = "<!-- settings -->"
END: Final = "<!-- /settings -->"


def settings_table() -> str:
    """Markdown: environment variable, key in the config file, default, meaning."""
    rows = ["| environment | `config.toml` | default | meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{name}` | `{key}` | {default} | {meaning.replace('|', chr(92) + '|')} |"
        for name, key, default, meaning in describe()
    ]
    return "\n".join(rows)


def with_table(text: str) -> str:
    """`text` with the current table between its markers.

    Raises:
        ValueError: there are no markers, or more than one pair.
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ValueError(f"expected one {BEGIN} … {END}")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{settings_table()}\n{END}{rest.split(END)[1]}"
