"""The collector's process as a whole."""

from __future__ import annotations

import gzip
import os
import resource
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import clickhouse_connect

from spanlore import opening
from spanlore.otlp.codec import encode_request
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.service import _upgrade_teller
from support.collector_process import CollectorProcess, send

SPAN_TABLES = ("inferences", "tool_calls", "turns")


def test_two_thousand_spans_come_back(collector: CollectorProcess) -> None:
    """Spans posted with gzip are read back by clickhouse-connect and by plain HTTP as soon as acknowledged, all."""
    spans = sample_spans(2_000, seed=11)
    for start in range(0, len(spans), 512):
        body = gzip.compress(encode_request(spans[start : start + 512]), 1)
        reply = collector.post_body(body, Content_Encoding="gzip")
        assert (reply.status, reply.body) == (200, b"")
    port = urlsplit(collector.clickhouse_url).port
    client = clickhouse_connect.get_client(host="127.0.0.1", port=port, username="any", password=collector.token)
    try:
        result = client.query(
            "SELECT TraceId, SpanId, Timestamp, SpanAttributes FROM spanlore.otel_traces WHERE startsWith("
            "SpanAttributes['spanlore.session.id'], {session:String}) ORDER BY Timestamp",
            parameters={"session": "session-11-"},
        )
        found = {(row["TraceId"], row["SpanId"]): row["SpanAttributes"] for row in result.named_results()}
    finally:
        client.close()
    told = collector.rows(
        "SELECT count() FROM otel_traces WHERE SpanAttributes['spanlore.session.id'] LIKE 'session-11-%'"
    )

    assert set(found) == {(span.trace_id.hex(), span.span_id.hex()) for span in spans}
    assert told == [2_000]
    attributes = next(iter(found.values()))
    assert attributes["spanlore.repository"] == "github.com/acme/widgets"
    assert not [key for key in attributes if key.startswith("gen_ai.input")]


def test_kill_between_batches_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """kill -9 under load, then all batches again with others that overlap: every span once, in every table."""
    spans = sample_spans(480, seed=21)
    bodies = [encode_request(spans[start : start + 60]) for start in range(0, len(spans), 60)]
    collector = CollectorProcess(tmp_path).start()
    acknowledged: list[int] = []
    enough = threading.Event()

    def send_all() -> None:
        for number, body in enumerate(bodies):
            try:
                if collector.post_body(body).status == 200:
                    acknowledged.append(number)
            except OSError:
                return
            if number == 3:
                enough.set()

    sender = threading.Thread(target=send_all)
    sender.start()
    enough.wait(60)
    collector.kill()
    sender.join()

    with collector:
        kept = collector.rows("SELECT count() FROM otel_traces")[0]
        assert kept >= 60 * len(acknowledged) > 0
        for start in range(0, len(spans), 160):
            assert collector.post_spans(spans[start : start + 160]).status == 200
        for body in bodies:
            assert collector.post_body(body).status == 200
        assert_each_once(collector, len(spans))
    assert collector.wait() == 0


def test_a_full_disk_is_told_and_heals(tmp_path: Path) -> None:
    """When nothing can be written the answer is 503 with Retry-After; with room again the same batch is stored once."""
    spans = sample_spans(200, seed=31)
    with CollectorProcess(tmp_path) as collector:
        assert collector.post_spans(spans[:50]).status == 200
        no_limit = resource.prlimit(collector.pid, resource.RLIMIT_FSIZE)
        # A file may have no more than 3,000 bytes now: writing fails as on a full disk, half-way through the tables.
        resource.prlimit(collector.pid, resource.RLIMIT_FSIZE, (3_000, no_limit[1]))
        refused = collector.post_spans(spans)
        health = collector.request("GET", "/healthz")
        resource.prlimit(collector.pid, resource.RLIMIT_FSIZE, no_limit)
        accepted = collector.post_spans(spans)

        assert refused.status == 503
        assert int(refused.headers["Retry-After"]) > 0
        assert health.status == 200
        assert accepted.status == 200
        assert_each_once(collector, len(spans))
        assert collector.request("GET", "/v1/status").json()["ingest"]["failures"] > 0


def test_a_second_process_is_told_that_the_store_is_open(collector: CollectorProcess) -> None:
    """Two collectors on one state directory: the second ends with 1 and says what to do; the first goes on storing."""
    second = CollectorProcess(collector.paths.state_dir)
    second.launch()

    assert second.wait() == 1
    assert "is open in another process" in "".join(second.log)
    spans = sample_spans(30, seed=41)
    traces = ",".join(sorted({f"'{span.trace_id.hex()}'" for span in spans}))
    assert collector.post_spans(spans).status == 200
    assert collector.rows(f"SELECT count() FROM otel_traces WHERE TraceId IN ({traces})") == [30]


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    """A port in use ends the process with 1 and names the setting."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = str(holder.getsockname()[1])
        process = CollectorProcess(tmp_path, SPANLORE_COLLECTOR_PORT=port)
        process.launch()

        assert process.wait() == 1
    assert f"port {port} is in use" in "".join(process.log)
    assert "SPANLORE_COLLECTOR_PORT" in "".join(process.log)


def test_wrong_settings_are_told(tmp_path: Path) -> None:
    """A bad value ends the process with 2."""
    process = CollectorProcess(tmp_path, SPANLORE_COLLECTOR_PORT="many")
    process.launch()

    assert process.wait() == 2
    assert "SPANLORE_COLLECTOR_PORT" in "".join(process.log)


def test_a_server_store_has_no_interface_of_ours(tmp_path: Path) -> None:
    """With a server that does not answer the process ends with 1 and names it, without its password."""
    process = CollectorProcess(tmp_path, SPANLORE_CLICKHOUSE_URL="http://user:secret@127.0.0.1:1/spans")
    process.launch()

    assert process.wait() == 1
    assert "can't open the store http://127.0.0.1:1/spans" in "".join(process.log)
    assert "secret" not in "".join(process.log)


def test_only_loopback_names_and_the_token_are_let_in(collector: CollectorProcess) -> None:
    """Another Host is 403, no token or a wrong one 401, on both ports; health needs none."""
    for url in (collector.url + "/v1/status", collector.clickhouse_url + "/?query=SELECT+1"):
        bearer = {"Authorization": f"Bearer {collector.token}"}

        assert send(url, "GET", None, {**bearer, "Host": "evil.example"}).status == 403
        assert send(url, "GET", None, {}).status == 401
        # ClickHouse's own status of a wrong password.
        wrong = 403 if url.startswith(collector.clickhouse_url) else 401
        assert send(url, "GET", None, {"Authorization": "Bearer wrong"}).status == wrong
        assert send(url, "GET", None, {"Authorization": "Bearer \xff"}).status == wrong
        assert send(url, "GET", None, bearer).status == 200
    assert send(collector.url + "/healthz", "GET", None, {}).status == 200


def test_memory_stays_small(collector: CollectorProcess) -> None:
    """The process is within its budget of 900 MB."""
    pages = int(Path(f"/proc/{collector.pid}/statm").read_text().split()[1])

    assert pages * os.sysconf("SC_PAGE_SIZE") < 900 * 1024**2


def assert_each_once(collector: CollectorProcess, spans: int) -> None:
    """Every span stands once in otel_traces and in its typed table, every part and every content once."""
    assert collector.rows("SELECT count(), uniqExact(TraceId, SpanId) FROM otel_traces") == [[spans, spans]]
    typed = 0
    for table in SPAN_TABLES:
        (rows, distinct) = collector.rows(f"SELECT count(), uniqExact(trace_id, span_id) FROM {table}")[0]
        assert rows == distinct, table
        typed += rows
    assert typed == spans
    for table, key in (
        ("message_parts", "span_id, direction, message_index, part_index"),
        ("human_messages", "span_id, ordinal"),
        ("session_facts", "span_id"),
        ("content", "hash"),
    ):
        assert collector.rows(f"SELECT count() = uniqExact({key}) FROM {table}") == [1], table
    missing = "SELECT count() FROM message_parts WHERE content_hash NOT IN (SELECT hash FROM content)"
    assert collector.rows(missing) == [0]


def test_a_new_store_is_made_and_not_brought_to_a_version(tmp_path: Path) -> None:
    """What whoever waits is told: all steps of one that was empty are its making, those of an older one an upgrade."""
    new, older = tmp_path / "new", tmp_path / "older"
    told = []
    for file, names in ((new, ["0001_otel_traces", "0041_texts"]), (older, ["0041_texts"])):
        tell = _upgrade_teller(file)
        for number, name in enumerate(names):
            tell(name, number, len(names))
            told.append(str(opening.read(file)))

    assert told == [
        "making the store, step 1 of 2",
        "making the store, step 2 of 2",
        "bringing the store to this version (0041_texts), step 1 of 1",
    ]
