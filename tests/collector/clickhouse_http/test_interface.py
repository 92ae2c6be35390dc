"""The ClickHouse interface, as its clients see it."""

from __future__ import annotations

import http.client
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import brotli
import clickhouse_connect
import lz4.frame
import pytest
import zstandard
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, DatabaseError, ProgrammingError

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.clickhouse_http.compression import compressed_block, decompress_blocks
from support.collector_process import CollectorProcess, send
from support.grafana_driver import DriverError, GrafanaDriver, blocks

DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: zlib.decompress(data, 47),
    "deflate": zlib.decompress,
    "br": brotli.decompress,
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    "lz4": lz4.frame.decompress,
}
SLOW = "SELECT sum(cityHash64(a.number, b.number)) FROM numbers(1000000) AS a CROSS JOIN numbers(1000000) AS b"
"""Would take hours, and reads few rows."""


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
    with pytest.raises(DatabaseError, match="READONLY") as inserted:
        client.insert("content", [["x"]], column_names=["hash"])
    assert inserted.value.code == 164


def test_clickhouse_connect_may_set_what_is_applied_here(client: Client) -> None:
    """Its own list of settings says so; what is not applied is refused by the driver, as of a read-only user."""
    assert client.query("SELECT 1", settings={"max_threads": 1, "join_use_nulls": 1}).result_rows == [(1,)]
    limited = client.query("SELECT number FROM numbers(9)", settings={"max_result_rows": 10, "limit": 3})
    assert limited.row_count == 3
    with pytest.raises(ProgrammingError, match="readonly"):
        client.query("SELECT 1", settings={"insert_quorum": 2})


def test_curl_without_a_query(collector: CollectorProcess) -> None:
    """Probes need no password."""
    for path in ("/", "/ping"):
        assert send(collector.clickhouse_url + path, "GET", None, {}).body == b"Ok.\n"
        assert send(collector.clickhouse_url + path, "HEAD", None, {}).status == 200


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
        ("SELECT number FROM numbers(6000000) FORMAT JSON", 500, "396"),
        ("  ", 400, "62"),
    ],
)
def test_errors_have_the_engines_codes(collector: CollectorProcess, sql: str, status: int, code: str) -> None:
    """A status, X-ClickHouse-Exception-Code, and the message as body."""
    reply = collector.query(sql)

    assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (status, code)
    assert reply.body.startswith(f"Code: {code}. DB::Exception:".encode())


def test_without_the_token_nothing_is_told(collector: CollectorProcess) -> None:
    """Codes 194 without a password and 516 with a wrong one, whatever way it comes."""
    url = f"{collector.clickhouse_url}/?query=SELECT+1"
    reply = send(url, "GET", None, {})

    assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (401, "194")
    assert reply.headers["WWW-Authenticate"].startswith("Basic")
    for headers in ({"X-ClickHouse-Key": "x"}, {"Authorization": "Basic !"}, {"Authorization": "Basic eDp5"}):
        reply = send(url, "GET", None, headers)

        assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (403, "516")
    reply = send(url, "GET", None, {"X-ClickHouse-Key": collector.token, "Host": "example.com"})
    assert reply.status == 403


@pytest.mark.parametrize("name", ["query_id", "session_timezone", "default_format", "database"])
def test_no_parameter_adds_a_header(collector: CollectorProcess, name: str) -> None:
    """What is told again in a header can't end it."""
    reply = collector.query("SELECT 1", **{name: "a\r\nX-Added: 1"})

    assert reply.status in (400, 404)
    assert "X-Added" not in reply.headers


def test_other_paths(collector: CollectorProcess) -> None:
    """What a server has for probes, and its words for what it has not."""
    assert send(f"{collector.clickhouse_url}/replicas_status", "GET", None, {}).body == b"Ok.\n"
    reply = send(f"{collector.clickhouse_url}/nosuch", "GET", None, {})
    assert (reply.status, reply.body[:25]) == (404, b"There is no handle /nosuc")


@pytest.mark.parametrize("encoding", ["gzip", "zstd", "lz4", "br", "deflate"])
def test_answers_in_every_encoding(collector: CollectorProcess, encoding: str) -> None:
    """Streamed or at once; only with `enable_http_compression`, as a server."""
    basic = {"X-ClickHouse-Key": collector.token, "Accept-Encoding": encoding}
    for rows in (3, 300_000):
        sql = f"SELECT number FROM numbers({rows})"
        plain = send(collector.clickhouse_url, "POST", sql.encode(), basic)
        packed = send(f"{collector.clickhouse_url}/?enable_http_compression=1", "POST", sql.encode(), basic)

        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == encoding
        assert DECODERS[encoding](packed.body) == plain.body


def test_native_blocks_both_ways(collector: CollectorProcess) -> None:
    """`decompress=1` for the query, `compress=1` for the answer, as JDBC drivers do."""
    key = {"X-ClickHouse-Key": collector.token}
    body = compressed_block(b"SELECT number FROM numbers(300000)")
    reply = send(f"{collector.clickhouse_url}/?compress=1&decompress=1", "POST", body, key)

    assert decompress_blocks(reply.body, 10_000_000) == b"".join(b"%d\n" % number for number in range(300_000))


def test_a_compressed_query(collector: CollectorProcess) -> None:
    """By its `Content-Encoding`; one that is not what it says is refused."""
    key = {"X-ClickHouse-Key": collector.token, "Content-Encoding": "zstd"}
    packed = zstandard.ZstdCompressor().compress(b"SELECT 7")

    assert send(collector.clickhouse_url, "POST", packed, key).body == b"7\n"
    reply = send(collector.clickhouse_url, "POST", b"SELECT 7", key)
    assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (500, "271")


@pytest.mark.parametrize("compression", [True, "lz4", "zstd", "br", "gzip", False])
def test_clickhouse_connect_with_every_compression(collector: CollectorProcess, compression: bool | str) -> None:
    """Unmodified, small and streamed answers, and an error in the middle of one."""
    with clickhouse_connect.get_client(
        host="127.0.0.1",
        port=collector.clickhouse_port,
        password=collector.token,
        database="spanlore",
        compress=compression,
    ) as client:
        assert client.query("SELECT 1").result_rows == [(1,)]
        numbers = client.query("SELECT number, toString(number) AS s FROM numbers(300000)")
        assert (numbers.row_count, numbers.result_rows[-1]) == (300_000, (299_999, "299999"))
        with pytest.raises(ClickHouseError, match=r"FUNCTION_THROW_IF_VALUE_IS_NON_ZERO|Value passed to"):
            client.query("SELECT throwIf(number = 900000), repeat('x', 20) FROM numbers(1000000)")
        assert client.command("SELECT 2") == 2


def test_settings_go_with_a_query(collector: CollectorProcess) -> None:
    """Those of this interface are no settings, those that can't be applied are named, bounds get tighter only."""
    reply = collector.query(
        "SELECT 1::UInt64 AS a FORMAT JSONEachRow",
        output_format_json_quote_64bit_integers="1",
        insert_quorum="2",
        max_execution_time="65",
        session_id="s1",
        send_progress_in_http_headers="1",
    )

    assert (reply.status, reply.body) == (200, b'{"a":"1"}\n')
    assert reply.headers["X-Spanlore-Ignored-Settings"] == "insert_quorum"
    assert collector.query("SELECT number FROM numbers(20)", max_result_rows="10", wait_end_of_query="1").status == 500
    assert collector.query("SELECT 1", readonly="0").headers["X-ClickHouse-Exception-Code"] == "164"
    assert collector.query("SELECT 1", output_format_nosuch="1").status == 404
    assert collector.query(SLOW, max_execution_time="0.3").status == 408


def test_a_stream_that_fails_says_so_and_is_cut(collector: CollectorProcess) -> None:
    """The tagged error of ClickHouse ≥ 25.11 at the end, and no mark of a whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", collector.clickhouse_port, timeout=300)
    sql = "SELECT throwIf(number = 900000), number FROM numbers(1000000)"
    connection.request("POST", "/", sql.encode(), {"X-ClickHouse-Key": collector.token})
    answer = connection.getresponse()
    with pytest.raises(http.client.IncompleteRead) as cut:
        answer.read()
    connection.close()
    tag = answer.headers["X-ClickHouse-Exception-Tag"]

    body = cut.value.partial
    assert (answer.status, len(tag)) == (200, 16)
    start, end = body.rindex(b"\r\n__exception__\r\n" + tag.encode()), len(body) - len(f" {tag}\r\n__exception__\r\n")
    message, _, length = body[start:end].decode().partition("\r\n")[2].split("\r\n", 2)[2].rpartition("\n")
    assert message.startswith("Code: 395. DB::Exception")
    assert int(length) == len(message.encode()) + 1


def test_who_goes_away_ends_his_query(collector: CollectorProcess) -> None:
    """While it computes and while it streams: nothing runs on for nobody."""
    for sql in (SLOW, "SELECT number FROM numbers(4000000)"):
        connection = http.client.HTTPConnection("127.0.0.1", collector.clickhouse_port, timeout=300)
        connection.request("POST", "/?query_id=gone", sql.encode(), {"X-ClickHouse-Key": collector.token})
        running = f"SELECT count() FROM system.processes WHERE query = {sql!r}"
        deadline = time.monotonic() + 120
        while collector.rows(running) == [0] and time.monotonic() < deadline:
            time.sleep(0.01)
        assert collector.rows(running) == [1]
        connection.close()
        while collector.rows(running) == [1] and time.monotonic() < deadline:
            time.sleep(0.05)

        assert collector.rows(running) == [0]
    assert not [line for line in collector.log if "Error handling request" in line]


def test_as_many_as_may_wait_no_longer_than_they_must(collector: CollectorProcess) -> None:
    """Slow queries beside each other do not hold up ingest, nor a quick query."""
    slow = "SELECT sleepEachRow(0.4) FROM numbers(6) SETTINGS max_block_size = 1"
    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(collector.query, slow.partition(" SETTINGS")[0]) for _ in range(8)]
        assert collector.post_spans(sample_spans(5, seed=81)).status == 200
        assert collector.query("SELECT 1").body == b"1\n"
        assert not all(done.done() for done in waiting)
        assert {done.result().status for done in waiting} == {200}


def test_grafanas_driver(collector: CollectorProcess) -> None:
    """The handshake at revision 54460, then everything at the revision it was told, streamed answers too."""
    assert collector.post_spans(sample_spans(30, seed=82)).status == 200
    driver = GrafanaDriver(collector.clickhouse_port, collector.token)
    try:
        assert (driver.display_name, driver.revision, driver.timezone) == ("spanlore", 0, "UTC")
        assert driver.query("SELECT 1") == {"1": [1]}
        assert driver.query("SELECT 1 AS a WHERE 0") == {}
        assert driver.query("SELECT number FROM numbers(200000)")["number"] == list(range(200_000))
        assert "spanlore" in driver.query("SHOW DATABASES")["name"]
        assert "otel_traces" in driver.query('SHOW TABLES FROM "spanlore"')["name"]
        assert "TraceId" in driver.query('DESC TABLE "spanlore"."otel_traces"')["name"]
        traces = driver.query(
            "SELECT TraceId AS traceID, SpanId AS spanID, ParentSpanId AS parentSpanID, ServiceName AS serviceName, "
            "SpanName AS operationName, Timestamp AS startTime, Duration * 0.000001 AS duration, "
            "SpanAttributes, ResourceAttributes FROM otel_traces "
            "WHERE SpanAttributes['spanlore.session.id'] = 'session-82-0' "
            "AND Timestamp >= toDateTime(0) AND Timestamp <= toDateTime(4000000000) LIMIT 1000"
        )
        assert len(traces["traceID"]) == 30
        assert {row["spanlore.session.id"] for row in traces["SpanAttributes"]} == {"session-82-0"}
        with pytest.raises(DriverError) as raised:
            driver.query("SELECT * FROM nowhere")
        assert raised.value.code == 60
        with pytest.raises(DriverError) as refused:
            driver.query("INSERT INTO content (hash) VALUES ('x')")
        assert refused.value.code == 164
    finally:
        driver.close()


def test_older_drivers_ask_the_engine(collector: CollectorProcess) -> None:
    """Without an announced revision the same question is answered as chDB writes Native."""
    reply = collector.query("SELECT revision() AS r", default_format="Native")

    assert next(blocks(reply.body, 0))["r"][0] > 54_000


def test_dbeaver_looks_around(collector: CollectorProcess) -> None:
    """What its JDBC driver asks the system tables, with native compression."""
    key = {"X-ClickHouse-User": "default", "X-ClickHouse-Key": collector.token}
    url = f"{collector.clickhouse_url}/?compress=1&default_format=RowBinaryWithNamesAndTypes&session_id=s"
    asked = [
        "SELECT currentUser() AS user, timezone() AS timezone, version() AS version",
        "SELECT name, engine, data_path, uuid FROM system.databases ORDER BY name",
        "SELECT t.database AS TABLE_SCHEM, t.name AS TABLE_NAME, t.total_rows, t.comment FROM system.tables t",
        "SELECT database, table, name, type, position, default_kind, comment FROM system.columns",
        "SELECT name, is_aggregate, alias_to FROM system.functions",
        "SELECT name, value, readonly FROM system.settings",
        "SELECT name FROM system.table_engines UNION ALL SELECT name FROM system.data_type_families",
        "SELECT database, table, name, expr FROM system.data_skipping_indices",
        "SELECT name, type FROM system.dictionaries",
        "SELECT cluster, shard_num FROM system.clusters",
        "SELECT partition, rows, bytes_on_disk FROM system.parts WHERE active",
        "SELECT query_id, query FROM system.processes",
        "SHOW CREATE TABLE spanlore.content",
    ]
    for sql in asked:
        reply = send(url, "POST", sql.encode(), key)
        assert reply.status == 200, (sql, reply.body[:300])
        assert decompress_blocks(reply.body, 50_000_000)
    assert collector.token.encode() not in b"".join(
        decompress_blocks(send(url, "POST", sql.encode(), key).body, 50_000_000) for sql in asked
    )


def test_a_form_can_ask(collector: CollectorProcess) -> None:
    """Multipart, as clients send long parameters; external tables are refused."""
    key = {"X-ClickHouse-Key": collector.token, "Content-Type": "multipart/form-data; boundary=b"}
    form = (
        b'--b\r\nContent-Disposition: form-data; name="query"\r\n\r\nSELECT {a:String}\r\n'
        b'--b\r\nContent-Disposition: form-data; name="param_a"\r\n\r\nx\r\n--b--\r\n'
    )
    table = b'--b\r\nContent-Disposition: form-data; name="t"; filename="t"\r\n\r\n1\r\n--b--\r\n'

    assert send(collector.clickhouse_url, "POST", form, key).body == b"x\n"
    reply = send(f"{collector.clickhouse_url}/?query=SELECT+1", "POST", table, key)
    assert (reply.status, reply.headers["X-ClickHouse-Exception-Code"]) == (501, "48")


def test_a_broken_answer_leaves_nothing_behind(collector: CollectorProcess, client: Client) -> None:
    """After queries that failed with half an answer written, every session answers the next query alone."""
    for _ in range(5):
        with pytest.raises(DatabaseError):
            client.command("SELECT number FROM numbers(6000000) FORMAT Native")

    assert [client.command("SELECT 1") for _ in range(10)] == [1] * 10
