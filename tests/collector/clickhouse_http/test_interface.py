"""The ClickHouse interface, as its clients see it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from support.collector_process import CollectorProcess, send


@pytest.fixture
def client(collector: CollectorProcess) -> Iterator[Client]:
    """clickhouse-connect with its defaults."""
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=collector.clickhouse_port, username="default", password=collector.token
    )
    yield client
    client.close()


def test_clickhouse_connect_reads_all_types(client: Client) -> None:
    """Native format, decoded by the driver."""
    row = client.query(
        "SELECT toDateTime64('2026-01-02 03:04:05.123456789', 9, 'UTC') AS t, toLowCardinality('x') AS lc, "
        "map('a', 'b') AS m, [1, 2] AS arr, CAST(NULL, 'Nullable(UInt64)') AS n, toDecimal64('1.5', 9) AS d, "
        "true AS b, (1, 'x') AS tup, toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u"
    ).first_row

    assert row is not None
    assert (row[1], row[2], list(row[3]), row[4], str(row[5]), row[6]) == (
        "x",
        {"a": "b"},
        [1, 2],
        None,
        "1.500000000",
        True,
    )
    assert str(row[0]).startswith("2026-01-02 03:04:05.123456")


def test_clickhouse_connect_streams_commands_and_empty_results(client: Client) -> None:
    """Other ways of asking work too."""
    assert client.command("SELECT 1") == 1
    assert client.query("SELECT 1 WHERE 0").result_rows == []
    assert client.query("SELECT name FROM system.columns LIMIT 0").column_names == ("name",)
    assert client.query("SELECT {x:String} AS x", parameters={"x": "a'b\n"}).result_rows == [("a'b\n",)]
    with client.query_rows_stream("SELECT number FROM numbers(100000)") as stream:
        assert sum(row[0] for row in stream) == 4999950000
    assert client.ping()


def test_clickhouse_connect_is_told_what_it_may_not(client: Client) -> None:
    """Errors carry the engine's code."""
    with pytest.raises(DatabaseError, match="READONLY") as raised:
        client.command("DROP TABLE spanlore.content")

    assert raised.value.code == 164


def test_curl_without_a_query(collector: CollectorProcess) -> None:
    """Probes need no password."""
    for path in ("/", "/ping"):
        assert send(collector.clickhouse_url + path, "GET", None, {}).body == b"Ok.\n"


def test_the_query_in_all_its_places(collector: CollectorProcess) -> None:
    """In the parameter, in the body, begun in one and continued in the other; formats by parameter and header."""
    key = {"X-ClickHouse-Key": collector.token, "X-ClickHouse-User": "me"}
    url = collector.clickhouse_url

    assert send(f"{url}/?query=SELECT+1", "GET", None, key).body == b"1\n"
    assert send(f"{url}/?query={quote('SELECT 1,')}", "POST", b"2", key).body == b"1\t2\n"
    assert (
        send(
            f"{url}/?default_format=CSV&max_execution_time=5&password={collector.token}", "POST", b"SELECT 'a'", {}
        ).body
        == b'"a"\n'
    )
    assert send(url, "POST", b"SELECT 1 AS a", {**key, "X-ClickHouse-Format": "JSONEachRow"}).body == b'{"a":1}\n'
    reply = collector.query("SELECT {a:String}", param_a="x", query_id="q1", database="system")
    assert (reply.body, reply.headers["X-ClickHouse-Query-Id"]) == (b"x\n", "q1")
    assert reply.headers["X-ClickHouse-Format"] == "TabSeparated"
    assert '"read_rows"' in reply.headers["X-ClickHouse-Summary"]


@pytest.mark.parametrize(
    ("sql", "status", "code"),
    [
        ("SELEC 1", 400, "62"),
        ("SELECT * FROM nowhere", 404, "60"),
        ("INSERT INTO content (hash) VALUES ('x')", 403, "164"),
        ("SELECT file('/etc/hostname')", 403, "164"),
        ("SELECT number FROM numbers(6000000) FORMAT Native", 500, "396"),
        ("  ", 400, "62"),
    ],
)
def test_errors_have_the_engines_codes(collector: CollectorProcess, sql: str, status: int, code: str) -> None:
    """A status, X-ClickHouse-Exception-Code, and the message as body."""
    reply = collector.query(sql)

    assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (status, code)
    assert reply.body.startswith(f"Code: {code}. DB::Exception:".encode())


def test_without_the_token_nothing_is_told(collector: CollectorProcess) -> None:
    """401 with code 516, whatever way the wrong password comes."""
    url = f"{collector.clickhouse_url}/?query=SELECT+1"
    for headers in ({}, {"X-ClickHouse-Key": "x"}, {"Authorization": "Basic !"}, {"Authorization": "Basic eDp5"}):
        reply = send(url, "GET", None, headers)

        assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (401, "516")


def test_what_is_not_supported_says_so(collector: CollectorProcess) -> None:
    """The native compression of answers."""
    reply = collector.query("SELECT 1", compress="1")

    assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (501, "48")


def test_a_broken_answer_leaves_nothing_behind(collector: CollectorProcess, client: Client) -> None:
    """After queries that failed with half an answer written, every session answers the next query alone."""
    for _ in range(5):
        with pytest.raises(DatabaseError):
            client.command("SELECT number FROM numbers(6000000) FORMAT Native")

    assert [client.command("SELECT 1") for _ in range(10)] == [1] * 10
