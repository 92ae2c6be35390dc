"""Read-only sessions: what they answer, and all that they refuse."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import chdb
import psutil
import pytest
from chdb.state.sqlitelike import Connection

from spanlore_collector.store.client import Store
from spanlore_collector.store.sessions import Query, QueryError, SessionPool

SLOW = "SELECT sum(cityHash64(a.number, b.number)) FROM numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b"
"""Would take hours, and reads few rows."""


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


def test_no_setting_writes_a_file(pool: SessionPool, tmp_path: Path) -> None:
    """Whatever text the engine takes as a setting may name a file: all of them do here, in every format there is."""
    listed = "SELECT name FROM system.settings WHERE type = 'String' AND name LIKE '%format%'"
    settings = {name: str(tmp_path / name) for name in pool.run(listed).data.decode().split()}
    formats = pool.run("SELECT name FROM system.formats WHERE is_output").data.decode().split()
    for name in formats:
        with suppress(QueryError):
            pool.run("SELECT 1 AS a", default_format=name, settings=settings)

    assert "output_format_schema" in settings and "Protobuf" in formats
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


def test_nothing_is_compiled(pool: SessionPool) -> None:
    """A query that comes again and again is not made machine code, which takes longer than what is looked at here."""

    def compiled() -> int:
        return int(pool.run("SELECT sum(value) FROM system.events WHERE event = 'CompileFunction'").data)

    before = compiled()
    for _ in range(8):
        sums = "sum(number * 2 + 1), avg(number), max(number - 7), countIf(number * 3 > 9)"
        pool.run(f"SELECT number % 7 AS seventh, {sums} FROM numbers(1000) GROUP BY seventh ORDER BY seventh, 2, 3")

    assert compiled() == before


def test_a_session_that_does_not_open_is_an_error(pool: SessionPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open one takes memory, which others may have: the engine's code tells, and no place is lost by it."""

    def refused(path: str) -> None:
        raise RuntimeError("Code: 241. DB::Exception: (total) memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)")

    with monkeypatch.context() as full:
        full.setattr(chdb, "connect", refused)
        for _ in range(pool.size + 1):
            with pytest.raises(QueryError) as raised:
                pool.run("SELECT 1")
            assert raised.value.code == 241

    assert pool.run("SELECT 1").data == b"1\n"


def test_a_session_that_does_not_close_loses_no_place(pool: SessionPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the library says to it."""

    left: list[Connection] = []

    def refused(connection: Connection) -> None:
        left.append(connection)
        raise RuntimeError("Code: 241. DB::Exception: (total) memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)")

    with monkeypatch.context() as full:
        full.setattr(Connection, "close", refused)
        for _ in range(pool.size + 1):
            assert pool.run("SELECT 1").data == b"1\n"
    for connection in left:
        connection.close()
    assert len(left) == pool.size + 1


def test_more_queries_than_sessions_wait(pool: SessionPool) -> None:
    """Nothing is refused for being the third."""
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda number: pool.run(f"SELECT {number}").data, range(12)))

    assert answers == [f"{number}\n".encode() for number in range(12)]


def test_settings_of_a_client(pool: SessionPool) -> None:
    """Applied where they are choices or tighter bounds; unknown ones are the engine's error; none stays."""
    quoted = {"output_format_json_quote_64bit_integers": "1"}

    assert pool.run("SELECT 1::UInt64 AS a FORMAT JSONEachRow", settings=quoted).data == b'{"a":"1"}\n'
    assert pool.run("SELECT 1::UInt64 AS a FORMAT JSONEachRow").data == b'{"a":1}\n'
    assert pool.run("SELECT now() > 0", settings={"insert_quorum": "1"}).data == b"1\n"
    for settings, code in (({"max_result_rows": "10"}, 396), ({"max_execution_time": "0.2"}, 159)):
        with pytest.raises(QueryError) as raised:
            pool.run("SELECT sleepEachRow(0.1), number FROM numbers(20)", settings=settings)
        assert raised.value.code == code
    with pytest.raises(QueryError) as unknown:
        pool.run("SELECT 1", settings={"output_format_nosuch": "1"})
    assert unknown.value.code == 115


@pytest.mark.parametrize("fmt", ["Native", "CSVWithNames", "JSONEachRow", "TSVWithNamesAndTypes", "RowBinaryWithNames"])
def test_blocks_together_are_the_whole_answer(pool: SessionPool, fmt: str) -> None:
    """What chDB streams, joined, is what it writes at once."""
    query = Query('SELECT number AS `a\n"b`, toString(number) AS s FROM numbers(200000)', fmt)
    with pool.start(query) as running:
        streamed = list(running)
    with pool.start(replace(query, is_whole=True)) as running:
        whole = list(running)

    assert len(streamed) > 2
    assert len(whole) == 1
    assert b"".join(streamed) == whole[0]
    assert running.statistics.result_rows == 200_000


def test_what_is_not_streamed_is_whole(pool: SessionPool) -> None:
    """Documents, totals, extremes, answers with a header and no rows."""
    totals = "SELECT number % 2 AS k, count() FROM numbers(10) GROUP BY k WITH TOTALS ORDER BY k"

    assert pool.run(totals).data == b"0\t5\n1\t5\n\n0\t10\n"
    assert pool.run("SELECT 1 AS a", settings={"extremes": "1"}).data == b"1\n\n1\n1\n"
    assert pool.run("SELECT 1 AS a WHERE 0 FORMAT CSVWithNames").data == b'"a"\n'
    assert pool.run("SELECT 1 AS a WHERE 0 FORMAT Native").data == b""
    assert pool.run("SELECT number FROM numbers(200000) FORMAT JSON").data.count(b'"meta"') == 1


def test_a_stream_holds_one_block(pool: SessionPool) -> None:
    """A gigabyte goes through in a fraction of its size."""
    process, size = psutil.Process(), 0
    sql = "SELECT repeat('x', 1000) FROM numbers(1000000)"
    with pool.start(Query(sql, "RowBinary")) as running:
        before = process.memory_info().rss
        peak = before
        for block in running:
            size += len(block)
            peak = max(peak, process.memory_info().rss)

    assert size > 1_000_000_000
    assert peak - before < 300_000_000


@pytest.mark.parametrize("wait", [False, True])
def test_a_query_can_be_ended(pool: SessionPool, wait: bool) -> None:
    """In the middle of its stream, and while it computes; the session is free for the next."""
    if not wait:
        with pool.start(Query("SELECT number FROM numbers(1000000000)", "RowBinary")) as running:
            assert running.fetch()
        assert pool.run("SELECT 1").data == b"1\n"
        return
    running = pool.start(Query(SLOW))
    with running, ThreadPoolExecutor(1) as threads:
        fetched = threads.submit(running.fetch)
        while not fetched.done():
            running.cancel()
            time.sleep(0.05)
        with pytest.raises(QueryError) as raised:
            fetched.result()
    assert raised.value.code == 394
    assert pool.run("SELECT 1").data == b"1\n"


def test_slow_queries_block_neither_the_writer_nor_other_readers(pool: SessionPool, store: Store) -> None:
    """While one computes, another reads and the writing connection writes."""
    writer = store.connect()
    slow = pool.start(Query(SLOW))
    try:
        with slow, ThreadPoolExecutor(1) as threads:
            fetched = threads.submit(slow.fetch)
            writer.command("CREATE TABLE IF NOT EXISTS beside (a UInt8) ENGINE = MergeTree ORDER BY a")
            writer.command("INSERT INTO beside VALUES (1)")
            assert pool.run("SELECT count() > 0 FROM beside").data == b"1\n"
            assert not fetched.done()
            while not fetched.done():
                slow.cancel()
                time.sleep(0.05)
    finally:
        writer.command("DROP TABLE IF EXISTS beside SYNC")
        writer.close()


def test_nothing_of_a_failed_query_is_left(pool: SessionPool) -> None:
    """Also of one that failed after it had given blocks."""
    for _ in range(4):
        with pytest.raises(QueryError, match="396"):
            pool.run("SELECT number FROM numbers(6000000)")
        assert pool.run("SELECT 1").data == b"1\n"
