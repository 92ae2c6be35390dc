"""Migrations for a cluster, from the files that serve one server; parsed by the engine."""

from __future__ import annotations

import re

import pytest

from spanlore_collector.store.client import Store
from spanlore_collector.store.cluster import local_name, on_cluster, placed_by, statements_for
from spanlore_collector.store.migrate import migrations, script, statements

TABLE = """CREATE TABLE IF NOT EXISTS turns ${on_cluster}
(
    session_id String,
    id         String
)
ENGINE = ${replicated}ReplacingMergeTree(id)
ORDER BY id"""


def on_a_cluster() -> list[str]:
    """All statements of all migrations, for the cluster `team`."""
    return [text for text in script("spanlore", "team", "26.9").split(";\n\n") if text]


def test_the_engine_parses_the_clusters_statements(store: Store) -> None:
    """Every statement is one the engine's own parser takes, and says ON CLUSTER where something is made."""
    found = on_a_cluster()
    with store.connect() as client:
        for text in found:
            parsed = client.query("SELECT formatQuerySingleLine({s:String})", parameters={"s": text}).result_rows[0][0]
            # Rows are put through the Distributed table, once.
            assert "ON CLUSTER team" in parsed or text.startswith("INSERT INTO "), text

    assert len(found) > 30


def test_every_table_is_replicated_and_spread() -> None:
    """What keeps rows has a Replicated engine under `_local`, and one Distributed table of its name over it."""
    found = on_a_cluster()
    local = {text.split()[5]: text for text in found if text.startswith("CREATE TABLE") and "MergeTree" in text}
    spread = {text.split()[5]: text for text in found if "= Distributed" in text}

    assert all(name.endswith("_local") and "ENGINE = Replicated" in text for name, text in local.items())
    assert {f"{name}_local" for name in spread} == set(local)
    for name, text in spread.items():
        assert f"`team`, `spanlore`, `{name}_local`, cityHash64(" in text
    assert all("rand()" not in text for text in spread.values())


def test_a_session_lies_on_one_shard() -> None:
    """What has a session is placed by it."""
    for table in ("inferences", "tool_calls", "turns", "human_messages", "message_parts", "session_facts"):
        text = next(text for text in on_a_cluster() if text.startswith(f"CREATE TABLE IF NOT EXISTS {table} "))
        assert "cityHash64(session_id)" in text


def test_a_view_and_an_index_belong_to_the_local_tables() -> None:
    """A materialized view reads and writes what lies on its own shard; a plain view reads the whole cluster."""
    found = "\n".join(on_a_cluster())

    assert re.search(r"VIEW IF NOT EXISTS otel_traces_trace_id_ts_mv .* TO otel_traces_trace_id_ts_local", found)
    assert "FROM otel_traces_local\n" in found
    assert "ALTER TABLE inferences_local ON CLUSTER `team`\n    ADD INDEX" in found
    assert "ALTER TABLE inferences ON" not in found
    assert re.search(r"VIEW IF NOT EXISTS sessions .*?FROM inferences\n", found, re.DOTALL)


def test_a_new_column_belongs_to_both() -> None:
    """A Distributed table has a column list of its own."""
    found = statements_for("ALTER TABLE turns ${on_cluster} ADD COLUMN x String", "d", "c", "26.9")

    assert [text.split()[2] for text in found] == ["turns_local", "turns"]


def test_without_a_cluster_a_statement_is_itself() -> None:
    """One server: the same text without Replicated and ON CLUSTER."""
    (text,) = statements_for(TABLE, "d", "", "26.9.1.2")

    assert "Replicated" not in text and "CLUSTER" not in text and "_local" not in text
    assert (local_name("turns", ""), local_name("turns", "c")) == ("turns", "turns_local")
    assert on_cluster("") == ""


def test_the_search_index_is_one_that_the_engine_has() -> None:
    """Older servers get the older index."""
    index = "ALTER TABLE content ADD INDEX i x TYPE ${search_index}"

    assert "text(" in statements_for(index, "d", "", "26.2")[0]
    assert "tokenbf_v1" in statements_for(index, "d", "", "25.8.1")[0]


def test_a_table_that_names_no_rows_is_told() -> None:
    """Whoever adds such a table must say how it is spread."""
    assert placed_by(TABLE, "turns") == "session_id"
    with pytest.raises(ValueError, match="no column of odd"):
        placed_by("CREATE TABLE IF NOT EXISTS odd (\n    x String\n)", "odd")


def test_every_statement_is_of_a_kind_that_is_known() -> None:
    """A migration of another kind would reach one node only, unseen."""
    for name, sql in migrations():
        for statement in statements(sql):
            kinds = (
                r"(CREATE (TABLE|VIEW|MATERIALIZED VIEW) IF NOT EXISTS|CREATE OR REPLACE VIEW|ALTER TABLE|"
                r"DROP TABLE IF EXISTS|INSERT INTO) \w+\s"
            )
            assert re.match(kinds, statement), name
            assert "${on_cluster}" in statement or statement.startswith("INSERT INTO "), name
