"""Read-only sessions: what they answer, and all that they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spanlore_collector.store.client import Store
from spanlore_collector.store.sessions import QueryError, SessionPool


@pytest.fixture(scope="module")
def pool(store: Store) -> Iterator[SessionPool]:
    """Two sessions on the embedded store."""
    if not store.path:
        pytest.skip("a server guards itself")
    pool = SessionPool(store.path, store.database, size=2)
    yield pool
    pool.close()


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT 1", b"1\n"),
        ("SELECT 1;", b"1\n"),
        ("-- why\nSELECT 'a;b' /* ; */ ;\n", b"a;b\n"),
        ("WITH 1 AS x SELECT x", b"1\n"),
        ("(SELECT 1) UNION ALL SELECT 1", b"1\n1\n"),
        ("SELECT count() FROM system.one", b"1\n"),
        ("SELECT 1 AS a FORMAT JSONEachRow", b'{"a":1}\n'),
        ("EXISTS TABLE otel_traces", b"1\n"),
        ("SELECT sum(number) FROM numbers(3)", b"3\n"),
        ("SELECT currentDatabase()", b"spanlore\n"),
        ("SELECT 1 LIMIT 5 OFFSET 0", b"1\n"),
    ],
)
def test_reading_is_answered(pool: SessionPool, sql: str, answer: bytes) -> None:
    """Statements that read, with comments, semicolons and formats."""
    assert pool.run(sql).data == answer


@pytest.mark.parametrize(
    "sql", ["SHOW TABLES", "SHOW DATABASES", "DESC otel_traces", "SHOW CREATE TABLE content", "EXPLAIN SELECT 1"]
)
def test_looking_around_is_answered(pool: SessionPool, sql: str) -> None:
    """What Grafana and people use to find their way."""
    assert pool.run(sql).data


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO content (hash) VALUES ('x')",
        "DROP TABLE content",
        "CREATE TABLE x (a String) ENGINE = Memory",
        "SET readonly = 0",
        "SET param_a = 1",
        "USE system",
        "KILL QUERY WHERE 1",
        "SYSTEM FLUSH LOGS",
        "SELECT 1 SETTINGS readonly = 0",
        "SELECT 1; SELECT 2",
        "SELECT 1; KILL QUERY WHERE 1",
        "SELECT file('/etc/hostname')",
        "SELECT FILE('/etc/hostname')",
        "SELECT arrayMap(x -> file(x), ['/etc/hostname'])",
        "SELECT 1 WHERE 1 IN (SELECT length(file('/etc/hostname')))",
        "SELECT columns('hash') APPLY file FROM content",
        "SELECT * FROM file('/etc/hostname', LineAsString)",
        "SELECT * FROM url('http://127.0.0.1:1/', LineAsString)",
        "SELECT * FROM remote('127.0.0.1', system.one)",
        "SELECT * FROM python(x)",
        "SELECT * FROM '/etc/hostname'",
        "SELECT aiGenerate('x')",
        "EXPLAIN SELECT file('/etc/hostname')",
        "DESCRIBE (SELECT file('/etc/hostname'))",
        "",
    ],
)
def test_everything_else_is_refused(pool: SessionPool, sql: str) -> None:
    """Writing, reaching out, changing the session, and several statements in one."""
    with pytest.raises(QueryError) as raised:
        pool.run(sql)

    assert raised.value.code > 0


@pytest.mark.parametrize("sql", ["SELECT 1", "SHOW TABLES", "DESC content", "EXPLAIN SELECT 1"])
def test_no_file_is_written(pool: SessionPool, tmp_path: Path, sql: str) -> None:
    """INTO OUTFILE works in the engine's readonly mode; not here."""
    with pytest.raises(QueryError, match="OUTFILE"):
        pool.run(f"{sql} INTO OUTFILE '{tmp_path / 'out'}'")

    assert not list(tmp_path.iterdir())


def test_parameters_and_databases(pool: SessionPool) -> None:
    """Values in the engine's text form; a database for one query does not stay."""
    answer = pool.run(
        "SELECT {a:String}, {b:UInt8}", params={"a": r"x\ty", "b": "3"}, default_format="JSONCompactEachRow"
    )

    assert answer.data == b'["x\\ty", 3]\n'
    assert (answer.format, pool.run("SELECT 1 FORMAT CSV").format) == ("JSONCompactEachRow", "CSV")
    assert pool.run("SELECT currentDatabase()", database="system").data == b"system\n"
    assert pool.run("SELECT currentDatabase()").data == b"spanlore\n"
    for name in ("nowhere", "a`; DROP"):
        with pytest.raises(QueryError) as raised:
            pool.run("SELECT 1", database=name)
        assert raised.value.code == 81
    assert pool.run("SELECT currentDatabase()").data == b"spanlore\n"


def test_limits_hold(pool: SessionPool) -> None:
    """A result beyond the limit is an error, and so is one that takes too much memory."""
    with pytest.raises(QueryError) as rows:
        pool.run("SELECT number FROM numbers(6000000)")
    with pytest.raises(QueryError) as memory:
        pool.run("SELECT count() FROM (SELECT groupArray(number) FROM numbers(200000000))")

    assert (rows.value.code, memory.value.code) == (396, 241)


def test_more_queries_than_sessions_wait(pool: SessionPool) -> None:
    """Nothing is refused for being the third."""
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda number: pool.run(f"SELECT {number}").data, range(12)))

    assert answers == [f"{number}\n".encode() for number in range(12)]
