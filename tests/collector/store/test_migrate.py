"""Migrations."""

from __future__ import annotations

from spanlore_collector.store.client import Store
from spanlore_collector.store.cluster import statements_for
from spanlore_collector.store.migrate import migrate, migrations, statements


def test_migrations_are_numbered_in_order() -> None:
    """Four digits each, none twice; the order of the names is the order they are applied in."""
    numbers = [name[:4] for name, _ in migrations()]

    assert all(number.isdigit() for number in numbers)
    assert numbers == sorted(set(numbers))


def test_migrating_again_changes_nothing(store: Store) -> None:
    """What is recorded is not applied twice, and each is recorded once."""
    with store.connect() as client:
        assert migrate(client, store.database) == []
        recorded = [row[0] for row in client.query("SELECT name FROM migrations ORDER BY name").result_rows]

    assert recorded == [name for name, _ in migrations()]


def test_a_migration_that_was_cut_off_is_applied_again(store: Store) -> None:
    """Every statement is repeatable, so that a file may be run twice."""
    with store.connect() as client:
        for _, sql in migrations():
            for statement in statements(sql):
                for text in statements_for(statement, store.database, "", client.server_version or ""):
                    client.command(text)


def test_statements_are_cut_at_their_ends_only() -> None:
    """Comment lines go, and a semicolon inside a line does not end a statement."""
    assert statements("-- a; b\nSELECT ';' AS x;\n\n-- c\nSELECT\n2;\n") == ["SELECT ';' AS x", "SELECT\n2"]
