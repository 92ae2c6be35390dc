"""What the store holds, in numbers."""

from __future__ import annotations

from spanlore_collector.store.client import Store
from spanlore_collector.store.figures import figures_of


def test_figures_name_version_migrations_and_tables(store: Store) -> None:
    """Tables with rows are counted."""
    with store.connect() as client:
        figures = figures_of(client)

    assert figures["content_bytes"] >= 0
    assert figures["engine_version"].count(".") >= 2
    assert "0001_spans" in figures["migrations"]
    assert figures["tables"]["migrations"]["rows"] == len(figures["migrations"])
