"""What a reading session refuses: every function the engine lists that reaches out of it, wherever it stands."""

from __future__ import annotations

import gc
import socket
import threading
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from clickhouse_connect.driver.exceptions import Error

from spanlore_collector.store.client import Store
from spanlore_collector.store.reader_guard import QueryError
from spanlore_collector.store.sessions import SessionPool

MARK = "c0ffee-in-a-file"

PURE: tuple[str, ...] = (
    "Arithmetic",
    "Arrays",
    "Bit",
    "Bitmap",
    "Comparison",
    "Conditional",
    "Dates and Times",
    "Distance",
    "Encoding",
)
PURE += ("Encryption", "Geo", "Geo Polygon", "Hash", "JSON", "Logical", "Map", "Mathematical", "Null", "Random Number")
PURE += ("Rounding", "String", "String Replacement", "String Search", "String Splitting", "Tuple", "Type Conversion")
"""Categories of the engine whose functions are tried with a path only, and all others in every way."""


@dataclass(frozen=True, slots=True)
class Bait:
    """What a query must not get at: a file, and a port that counts who connects."""

    file: Path
    port: int
    visits: list[object]


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[Bait]:
    """A file with a mark in it, and a listener on loopback."""
    file = tmp_path / "bait.txt"
    file.write_text(f"{MARK}\n")
    visits: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            try:
                while True:
                    connection, address = listener.accept()
                    visits.append(address)
                    connection.close()
            except OSError:
                return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield Bait(file, listener.getsockname()[1], visits)
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.fixture(scope="module")
def pool(store: Store) -> Iterator[SessionPool]:
    """Sessions on the embedded store."""
    if not store.path:
        pytest.skip("a server guards itself")
    pool = SessionPool(store.path, store.database, size=2)
    yield pool
    pool.close()


def names(pool: SessionPool, sql: str) -> list[str]:
    """The lines of an answer."""
    return pool.run(sql, default_format="TSVRaw").data.decode().split("\n")[:-1]


def test_every_table_function_is_harmless_or_refused(pool: SessionPool, bait: Bait) -> None:
    """All the engine has, called bare, with a path, with an address, and with a statement."""
    harmless = {"numbers", "numbers_mt", "zeros", "zeros_mt", "generateSeries", "generate_series", "primes", "values"}
    harmless |= {"null", "SQLStandardValues", "format", "merge", "generateRandom", "view", "viewExplain"}
    harmless |= {"fuzzQuery"}  # it parses, and runs nothing
    functions = names(pool, "SELECT name FROM system.table_functions")
    calls: tuple[str, ...] = ("", f"'{bait.file}'", f"'{bait.file}', 'LineAsString', 'line String'", "'SELECT 1'")
    calls += (f"'http://127.0.0.1:{bait.port}/', 'LineAsString', 'line String'", f"'127.0.0.1:{bait.port}', 'a', 'b'")
    answered = set()
    for function in functions:
        for arguments in calls:
            for sql in (f"SELECT * FROM {function}({arguments}) LIMIT 1", f"DESCRIBE {function}({arguments})"):
                try:
                    assert MARK.encode() not in pool.run(sql).data
                    answered.add(function)
                except QueryError as refused:
                    assert MARK not in str(refused)

    assert len(functions) > 60
    assert answered <= harmless
    assert bait.visits == []


def test_every_scalar_function_leaves_files_and_network_alone(pool: SessionPool, bait: Bait) -> None:
    """All the engine has, with a path, an address and a statement: the file is not read, nobody connects."""
    listed = "FROM system.functions WHERE NOT is_aggregate AND NOT startsWith(name, 'sleep')"
    functions = names(pool, f"SELECT name {listed}")
    unclear = set(names(pool, f"SELECT name {listed} AND categories NOT IN ({', '.join(map(repr, PURE))})"))
    url = f"http://127.0.0.1:{bait.port}/"
    calls = (f"'{bait.file}'", f"'{url}'", f"'{url}', 'x'", "'SELECT 1'", "")
    refused = set()
    for function in functions:
        for arguments in calls[: None if function in unclear else 1]:
            try:
                data = pool.run(f"SELECT `{function}`({arguments})").data
                assert MARK.encode() not in data, function
            except QueryError as error:
                assert MARK not in str(error), function
                if error.code == 164:
                    refused.add(function)

    assert len(functions) > 1000
    assert {"file", "aiGenerate", "AIGenerate", "aiEmbed", "addressToLine"} <= refused
    assert bait.visits == []


def test_what_nothing_can_end_is_refused(pool: SessionPool) -> None:
    """Distances by editing take the square of a value's length, under every name the engine has for them."""
    like = "name ILIKE '%levenshtein%' OR name ILIKE '%editDistance%' OR name ILIKE '%arraySimilarity%'"
    functions = names(pool, f"SELECT name FROM system.functions WHERE {like} OR alias_to ILIKE '%editDistance%'")
    for function in functions:
        with pytest.raises(QueryError, match="not allowed"):
            pool.run(f"SELECT {function}('a', 'b')")

    assert len(functions) >= 5


def test_long_statements_are_not_kept(pool: SessionPool) -> None:
    """Verdicts are remembered by hundreds, and a statement may have a quarter of a megabyte."""
    tracemalloc.start()
    try:
        for number in range(20):
            pool.run(f"SELECT {number} -- {'x' * 200_000}")
        gc.collect()
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert held_bytes < 1_000_000


def test_the_bait_would_be_taken(store: Store, bait: Bait) -> None:
    """Without the guard the engine reads the file and connects: what the tests above look for is there to be found."""
    client = store.connect()
    try:
        assert MARK in str(client.command(f"SELECT * FROM file('{bait.file}', LineAsString)"))
        with pytest.raises(Error):
            client.command(
                f"SELECT * FROM url('http://127.0.0.1:{bait.port}/', LineAsString) SETTINGS http_max_tries = 1"
            )
    finally:
        client.close()
    assert bait.visits


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {0}",
        "{0}",
        "WITH {0} AS a SELECT a",
        "SELECT * REPLACE({0} AS dummy) FROM system.one",
        "SELECT 1 WHERE {0} = ''",
        "SELECT number FROM numbers(3) ORDER BY number WITH FILL FROM length({0})",
        "SELECT number FROM numbers(3) ORDER BY number WITH FILL INTERPOLATE (number AS length({0}))",
        "SELECT number FROM numbers(3) LIMIT length({0})",
        "SELECT number FROM numbers(3) LIMIT 1 BY {0}",
        "SELECT sum(number) OVER (ORDER BY {0}) FROM numbers(3)",
        "SELECT sum(number) OVER w FROM numbers(3) WINDOW w AS (PARTITION BY {0})",
        "SELECT number FROM numbers(1) GROUP BY GROUPING SETS (({0}))",
        "SELECT 1 FROM numbers(1) ARRAY JOIN [{0}] AS z",
        "SELECT 1 FROM numbers(1) QUALIFY {0} = ''",
        "SELECT 1 FROM numbers(length({0}))",
        "SELECT 1 FROM numbers(1) a JOIN numbers(1) b ON {0} = ''",
        "SELECT 1 UNION ALL SELECT length({0})",
        "SELECT 1 IN {0}",
        "SELECT * FROM view(SELECT {0})",
        "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT {0}))",
        "SELECT * FROM (EXPLAIN SELECT {0})",
        "SELECT arrayMap(x -> {0}, [1])",
        "EXPLAIN SELECT {0}",
        "EXPLAIN AST SELECT {0}",
        "EXPLAIN SYNTAX SELECT {0}",
        "DESCRIBE (SELECT {0})",
        "SHOW TABLES WHERE {0} = ''",
        "SHOW TABLES LIMIT length({0})",
        "SHOW COLUMNS FROM content WHERE {0} = ''",
        "SHOW INDEX FROM content WHERE {0} = ''",
        "SHOW TABLES WHERE name IN (SELECT {0})",
    ],
)
@pytest.mark.parametrize(
    "call", ["file('/etc/hostname')", "FILE('/etc/hostname')", "`file`('/etc/hostname')", "`fi\\x6ce`('/etc/hostname')"]
)
def test_wherever_a_function_stands(pool: SessionPool, sql: str, call: str) -> None:
    """In every clause of every statement that reads, however its name is written."""
    with pytest.raises(QueryError) as raised:
        pool.run(sql.format(call))

    # An expression alone is a SELECT for this engine, but not one whose function's name is a keyword.
    assert raised.value.code == 164 or (raised.value.code == 62 and sql == "{0}"), str(raised.value)


@pytest.mark.parametrize(
    "sql",
    [
        # by its name alone
        "SELECT arrayMap(file, ['{file}'])",
        "SELECT arrayMap(`FILE`, ['{file}'])",
        "WITH file AS f SELECT arrayMap(f, ['{file}'])",
        "WITH x -> file(x) AS f SELECT f('{file}')",
        "SELECT arrayFold(file, ['{file}'], '')",
        "SELECT arrayMap(aiGenerate, ['http://127.0.0.1:{port}/'])",
        "SELECT {{f:Identifier}}('{file}')",
        # written otherwise
        "SELECT/**/file/**/('{file}')",
        "SELECT # c\nfile('{file}')",
        "SELECT \"file\"('{file}')",
        "SELECT file\u2003('{file}')",
        "SELECT COLUMNS('.*') APPLY(file) FROM (SELECT '{file}' AS a)",
        # a file as a table
        "SELECT * FROM '{file}'",
        "SELECT * FROM `{file}`",
        "SELECT * FROM default.`{file}`",
        "FROM '{file}' SELECT *",
        "DESCRIBE TABLE `{file}`",
        "SELECT * FROM {{f:Identifier}}",
        "SELECT * FROM loop(file('{file}'))",
        "SELECT * FROM format(CSV, (SELECT file('{file}')))",
        "SELECT * FROM viewIfPermitted(SELECT * FROM file('{file}', 'CSV') ELSE null('a String'))",
        "SELECT * FROM merge(REGEXP('.*'), '{file}')",
        "SELECT * FROM executable('cat {file}', 'TSV', 'x String')",
        "SELECT * FROM remote('127.0.0.1:{port}', system.one)",
        "INSERT INTO content FROM INFILE '{file}' FORMAT CSV",
        # into a file
        "SELECT 1 INTO OUTFILE '{out}'",
        "(SELECT 1) INTO OUTFILE '{out}'",
        "SELECT 1/**/INTO/**/OUTFILE '{out}' TRUNCATE",
        "SELECT 1 UNION ALL SELECT 2 INTO OUTFILE '{out}' AND STDOUT FORMAT CSV",
        "WITH 1 AS x SELECT x INTO OUTFILE '{out}' COMPRESSION 'gzip' LEVEL 1",
        "EXPLAIN SELECT 1 INTO OUTFILE '{out}'",
        "EXPLAIN AST SELECT 1 INTO OUTFILE '{out}'",
        "SHOW TABLES INTO OUTFILE '{out}'",
        "SHOW COLUMNS FROM content INTO OUTFILE '{out}'",
        "SHOW CREATE TABLE content INTO OUTFILE '{out}'",
        "SHOW PROCESSLIST INTO OUTFILE '{out}'",
        "DESCRIBE content INTO OUTFILE '{out}'",
        "EXISTS content INTO OUTFILE '{out}'",
        "SELECT 1 SETTINGS max_threads = 1 INTO OUTFILE '{out}'",
        # out of the read-only session
        "SELECT 1 SETTINGS readonly = 0",
        "SELECT 1 SETTINGS max_memory_usage = 0",
        "SELECT uniqExact(number) FROM (SELECT number FROM numbers(50000000) SETTINGS max_memory_usage = 0)",
        "SELECT demangle('x') SETTINGS allow_introspection_functions = 1",
        "SELECT 1 FORMAT Template SETTINGS format_template_row = '{file}'",
        "SET readonly = 0",
        "SYSTEM SHUTDOWN",
        "KILL QUERY WHERE 1",
        "BACKUP TABLE content TO File('{out}')",
        "CREATE DATABASE x ENGINE = Filesystem('/')",
        "EXECUTE AS default SELECT 1",
    ],
)
def test_however_it_is_written(pool: SessionPool, bait: Bait, sql: str) -> None:
    """Nothing is read, written, visited or changed by words in another place, order or disguise."""
    out = bait.file.with_name("out")
    told = b""
    try:
        told = pool.run(sql.format(file=bait.file, port=bait.port, out=out), params={"f": str(bait.file)}).data
    except QueryError as refused:
        told = str(refused).encode()
    else:
        assert sql.startswith("EXPLAIN AST"), told  # the one that only parses

    assert MARK.encode() not in told
    assert not out.exists()
    assert bait.visits == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + "(" * 60_000 + "1" + ")" * 60_000,
        "SELECT " + "NOT " * 60_000 + "1",
        "SELECT " + "[" * 30_000 + "]" * 30_000,
        "SELECT " + "tuple(" * 20_000 + "1" + ")" * 20_000,
        "SELECT * FROM " + "(SELECT * FROM " * 3_000 + "system.one" + ")" * 3_000,
        "SELECT {a:" + "Array(" * 5_000 + "Int8" + ")" * 5_000 + "}",
        "SELECT match('a', '" + "(" * 2_000 + "a" + ")" * 2_000 + "')",
    ],
    ids=["brackets", "not", "arrays", "calls", "subqueries", "types", "pattern"],
)
def test_depth_ends_no_process(pool: SessionPool, sql: str) -> None:
    """The engine is in our process: its parser's own bounds must hold."""
    try:
        pool.run(sql)
    except QueryError as refused:
        assert refused.code in (36, 62, 167, 306, 427), str(refused)[:200]

    assert pool.run("SELECT 1").data == b"1\n"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 'file(x)'", b"file(x)\n"),
        ("SELECT 1 -- file('/etc/hostname')", b"1\n"),
        ("SELECT 1 AS file, 2 AS format FORMAT CSV", b"1,2\n"),
        ("SHOW TABLES LIKE 'conte%'", b"content\n"),
        ("SHOW TABLES WHERE name = 'content'", b"content\n"),
        ("SELECT number AS format FROM numbers(1)", b"0\n"),
        ("SELECT count() FROM (SELECT cluster FROM system.clusters WHERE cluster = 'x')", b"0\n"),
    ],
)
def test_words_are_no_functions(pool: SessionPool, sql: str, expected: bytes) -> None:
    """Text, comments, names of columns."""
    assert pool.run(sql).data == expected


def test_a_second_statement_never_runs(pool: SessionPool, store: Store) -> None:
    """Neither behind a reading one, nor behind the data of an INSERT, nor inside EXPLAIN."""
    client = store.connect()
    client.command("CREATE TABLE IF NOT EXISTS prey (a String) ENGINE = MergeTree ORDER BY a")
    try:
        for sql in (
            "SELECT 1; DROP TABLE prey",
            "INSERT INTO prey VALUES ('a'); DROP TABLE prey",
            "INSERT INTO prey FORMAT CSV\na\n; DROP TABLE prey",
            "EXPLAIN AST SELECT 1; DROP TABLE prey",
            "EXPLAIN AST INSERT INTO prey VALUES ('a'); DROP TABLE prey",
            "SELECT 1 PARALLEL WITH DROP TABLE prey",
            "DROP TABLE prey PARALLEL WITH DROP TABLE prey",
            "BEGIN TRANSACTION",
        ):
            with pytest.raises(QueryError):
                pool.run(sql)

        assert client.command("SELECT count() FROM prey") == 0
    finally:
        client.command("DROP TABLE IF EXISTS prey SYNC")
        client.close()


def test_errors_are_about_the_query(pool: SessionPool) -> None:
    """Not about the questions that were asked about it."""
    for sql in ("SELEC 1", "SELECT é FROM x", "SELECT (1", "SELECT 1 FORMAT Nope", "SELECT {a:String}"):
        with pytest.raises(QueryError) as raised:
            pool.run(sql)
        assert "formatQuery" not in str(raised.value)
        assert "EXPLAIN" not in str(raised.value)


def test_content_types_are_the_engines(pool: SessionPool) -> None:
    """As a server sends them."""
    assert pool.content_type("JSON").startswith("application/json")
    assert pool.content_type("tabseparated").startswith("text/tab-separated-values")
    assert pool.content_type("nosuch").startswith("text/plain")


def test_nothing_secret_in_the_system_tables(pool: SessionPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every one of them is readable or refused; none shows the process's environment."""
    secret = "c0ffee-in-the-environment"
    monkeypatch.setenv("SPANLORE_SECRET", secret)
    tables = names(pool, "SELECT name FROM system.tables WHERE database = 'system' ORDER BY name")
    unread = []
    for table in tables:
        try:
            text = pool.run(f"SELECT * FROM system.`{table}` LIMIT 20000", default_format="JSONCompactEachRow").data
        except QueryError:
            unread.append(table)
            continue
        assert b"SPANLORE_" not in text, table
        assert secret.encode() not in text, table

    assert len(tables) > 80
    assert not {"tables", "columns", "databases", "functions", "settings", "parts", "formats"} & set(unread)


def test_a_verdict_holds_for_its_identifiers_only(pool: SessionPool, bait: Bait) -> None:
    """A name that is a parameter is part of the statement: one that is allowed opens no way for another."""
    sql = "SELECT arrayMap({f:Identifier}, [{path:String}])"
    pool.run(sql, params={"f": "lower", "path": "A"})

    with pytest.raises(QueryError) as raised:
        pool.run(sql, params={"f": "file", "path": str(bait.file)})

    assert raised.value.code == 164
