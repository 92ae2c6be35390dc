"""Migrations."""

from __future__ import annotations

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.store.backfill import fill_facts
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
    """Every file may be run again from its start, whichever of its statements was the last that ran."""
    with store.connect(database="default") as client:
        client.command("CREATE DATABASE twice")
        client.database = "twice"
        for _, sql in migrations():
            for statement in statements(sql) * 2:
                for text in statements_for(statement, "twice", "", client.server_version or ""):
                    client.command(text)
        client.command("DROP DATABASE twice")


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
        for table in ("inferences", "session_facts"):
            client.command(f"DELETE FROM {table} WHERE span_id = '{victim}'")
        assert added() == counted()
        client.command(
            "SELECT session_id, sum(inferences), argMinIf(title, start_time, notEmpty(title)) FROM session_facts "
            "GROUP BY session_id SETTINGS force_optimize_projection = 1"
        )
        client.command("SELECT * FROM sessions SETTINGS force_optimize_projection = 1")


def test_otel_traces_has_the_exporters_columns(store: Store) -> None:
    """Names, order and types are those of the exporter's table, whatever our codecs and settings are."""
    exporters = """
        Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String, TraceState String,
        SpanName LowCardinality(String), SpanKind LowCardinality(String), ServiceName LowCardinality(String),
        ResourceAttributes Map(LowCardinality(String), String), ScopeName String, ScopeVersion String,
        SpanAttributes Map(LowCardinality(String), String), Duration UInt64, StatusCode LowCardinality(String),
        StatusMessage String, Events.Timestamp Array(DateTime64(9)), Events.Name Array(LowCardinality(String)),
        Events.Attributes Array(Map(LowCardinality(String), String)), Links.TraceId Array(String),
        Links.SpanId Array(String), Links.TraceState Array(String),
        Links.Attributes Array(Map(LowCardinality(String), String))
    """
    with store.connect() as client:
        rows = client.query(
            "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND table = 'otel_traces' "
            "ORDER BY position"
        ).result_rows

    assert ", ".join(f"{name} {kind}" for name, kind in rows) == " ".join(exporters.split())


def test_the_facts_of_older_spans_are_made(store: Store) -> None:
    """What was stored before the table was is added up as if it had come now; repeated, nothing is doubled."""
    spans = sample_spans(90, seed=96)
    everything = (
        "SELECT * EXCEPT ingested_at FROM session_facts WHERE startsWith(session_id, 'session-96-') ORDER BY span_id"
    )
    with store.connect() as client:
        Inserter(client).insert([[rows_of(span, 1_790_000_000_000) for span in spans]])
        written = client.query(everything).result_rows
        mine = "startsWith(session_id, 'session-96-') SETTINGS mutations_sync = 2"
        client.command(f"ALTER TABLE session_facts DELETE WHERE {mine}")
        for _ in range(2):
            fill_facts(client)
        assert client.query(everything).result_rows == written
    assert len(written) == 90


def test_how_far_it_is_is_told_before_each_statement(store: Store) -> None:
    """From the first to the last of all that wait; nothing when none does."""
    told: list[tuple[str, int, int]] = []
    with store.connect(database="default") as client:
        migrate(client, "told", tell=lambda *step: told.append(step))
        migrate(client, "told", tell=lambda *step: told.append(step))
        client.command("DROP DATABASE told")

    total = sum(len(statements(sql)) for _, sql in migrations())
    assert [(done, of) for _, done, of in told] == [(number, total) for number in range(total)]
    assert list(dict.fromkeys(name for name, _, _ in told)) == [name for name, _ in migrations()]
