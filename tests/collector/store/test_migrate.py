"""Migrations."""

from __future__ import annotations

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.client import Store
from spanlore_collector.store.cluster import statements_for
from spanlore_collector.store.inserting import Inserter
from spanlore_collector.store.migrate import migrate, migrations, statements
from spanlore_collector.store.rows import rows_of


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


def test_sessions_are_added_up_from_what_is_kept(store: Store) -> None:
    """`sessions` reads the totals kept beside the rows, and they are those of the rows, also after a DELETE."""
    spans = sample_spans(90, seed=95)
    with store.connect() as client:
        Inserter(client).insert([[rows_of(span, 1_790_000_000_000) for span in spans]])
        mine = "startsWith(session_id, 'session-95-')"

        def added() -> list[tuple[object, ...]]:
            return [
                tuple(row)
                for row in client.query(
                    "SELECT session_id, inferences, tool_calls, failures, turns, input_tokens, cost_usd, title "
                    f"FROM sessions WHERE {mine} ORDER BY session_id SETTINGS optimize_use_projections = 1"
                ).result_rows
            ]

        def counted() -> list[tuple[object, ...]]:
            sql = (
                "SELECT i.session_id, count(), any(t.calls), any(t.failed), any(u.turns), sum(i.input_tokens), "
                "sum(i.cost_usd), any(u.title) FROM inferences AS i "
                "LEFT JOIN (SELECT session_id, count() AS calls, countIf(outcome = 'failure') AS failed "
                "FROM tool_calls GROUP BY session_id) AS t ON t.session_id = i.session_id "
                "LEFT JOIN (SELECT session_id, count() AS turns, argMin(prompt, start_time) AS title FROM turns "
                "WHERE call_class = 'main' GROUP BY session_id) AS u ON u.session_id = i.session_id "
                f"WHERE {mine.replace('session_id', 'i.session_id')} GROUP BY i.session_id ORDER BY i.session_id "
                "SETTINGS optimize_use_projections = 0"
            )
            return [tuple(row) for row in client.query(sql).result_rows]

        assert len(added()) >= 2
        assert added() == counted()
        (victim,) = client.query(f"SELECT min(span_id) FROM inferences WHERE {mine}").result_rows[0]
        client.command(f"DELETE FROM inferences WHERE span_id = '{victim}'")
        assert added() == counted()
        kept = {
            "inferences": "SELECT session_id, sum(cost_usd) FROM inferences GROUP BY session_id",
            "tool_calls": "SELECT session_id, countIf(outcome = 'failure') FROM tool_calls GROUP BY session_id",
            "turns": "SELECT session_id, argMinIf(substring(prompt, 1, 200), start_time, notEmpty(prompt)) FROM turns "
            "WHERE call_class = 'main' GROUP BY session_id",
        }
        for sql in kept.values():
            client.command(f"{sql} SETTINGS force_optimize_projection = 1")
