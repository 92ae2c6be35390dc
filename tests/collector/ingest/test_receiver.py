"""OTLP over HTTP, as a sender sees it."""

from __future__ import annotations

import gzip
import http.client
import json
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from spanlore.otlp.codec import encode_request
from spanlore.spans.record import SpanKind, SpanRecord
from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.ingest.bodies import MAX_BODY_BYTES
from spanlore_collector.ingest.receiver import prepare
from support.collector_process import PROTOBUF, CollectorProcess
from support.metrics_request import KINDS, request_of_all_kinds


def test_an_accepted_batch_has_an_empty_answer_of_its_type(collector: CollectorProcess) -> None:
    """Full success: 200, no partial_success; an empty request succeeds as well."""
    accepted = collector.post_spans(sample_spans(10, seed=51))
    empty = collector.post_body(b"")

    assert (accepted.status, accepted.body, accepted.headers["Content-Type"]) == (200, b"", PROTOBUF)
    assert (empty.status, empty.body) == (200, b"")
    assert collector.rows("SELECT count() FROM inferences WHERE session_id = 'session-51-0'")[0] > 0


def test_json_is_taken_too(collector: CollectorProcess) -> None:
    """OTLP/JSON with hex ids and 64-bit integers as text; the answer is JSON."""
    span = {
        "traceId": "5B8EFFF798038103D269B633813FC60C",
        "spanId": "eee19b7ec3c1b174",
        "parentSpanId": "",
        "name": "chat gpt",
        "kind": 3,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": 1790000001000000000,
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}},
            {"key": "unknown", "value": {"arrayValue": {"values": [{"boolValue": True}]}}},
        ],
        "somethingNew": 1,
    }
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
    reply = collector.post_body(body, Content_Type="application/json")

    assert (reply.status, reply.json(), reply.headers["Content-Type"]) == (200, {}, "application/json")
    sql = (
        "SELECT span_id, input_tokens, duration_ns FROM inferences WHERE trace_id = '5b8efff798038103d269b633813fc60c'"
    )
    assert collector.rows(sql) == [["eee19b7ec3c1b174", 12, 1_000_000_000]] or collector.rows(sql) == [
        ["eee19b7ec3c1b174", "12", "1000000000"]
    ]


def test_spans_without_ids_are_a_partial_success(collector: CollectorProcess) -> None:
    """The others are stored; the sender is told how many were not, and not to try again."""
    good = sample_spans(5, seed=52)
    bad = [
        SpanRecord(b"\0" * 16, b"x" * 8, None, "a", SpanKind.CLIENT, 1, 2),
        SpanRecord(b"t" * 16, b"", None, "b", SpanKind.CLIENT, 1, 2),
    ]
    reply = collector.post_spans([*good, *bad])
    answer = ExportTraceServiceResponse.FromString(reply.body)

    assert reply.status == 200
    assert answer.partial_success.rejected_spans == 2
    assert "16" in answer.partial_success.error_message
    assert collector.rows(
        "SELECT count() FROM otel_traces WHERE SpanAttributes['spanlore.session.id'] = 'session-52-0'"
    ) == [5]


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"\xff\xff", {}, 400, 3),
        (b"{", {"Content_Type": "application/json"}, 400, 3),
        (b'{"resourceSpans":[1]}', {"Content_Type": "application/json"}, 400, 3),
        (b"not gzip", {"Content_Encoding": "gzip"}, 400, 3),
        (b"x", {"Content_Encoding": "br"}, 400, 3),
        (b"x", {"Content_Type": "text/plain"}, 415, 3),
        (gzip.compress(bytes(MAX_BODY_BYTES + 1), 1), {"Content_Encoding": "gzip"}, 413, 8),
    ],
)
def test_what_is_no_request_is_refused_for_good(
    collector: CollectorProcess, body: bytes, headers: dict[str, str], status: int, code: int
) -> None:
    """A status that a sender does not retry, with a google.rpc.Status in its own encoding."""
    reply = collector.post_body(body, **headers)

    assert reply.status == status
    if headers.get("Content_Type") == "application/json":
        assert reply.json()["code"] == code and reply.json()["message"]
    else:
        assert reply.body[:2] == bytes([8, code])


def test_a_body_beyond_the_bound_is_refused_unread(collector: CollectorProcess) -> None:
    """A length of more than 64 MiB is answered 413 before it is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", collector.port, timeout=300)
    connection.putrequest("POST", "/v1/traces")
    for name, value in (
        ("Content-Type", PROTOBUF),
        ("Content-Length", str(MAX_BODY_BYTES + 1)),
        ("Authorization", f"Bearer {collector.token}"),
    ):
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()

    assert status == 413


def test_a_batch_again_is_acknowledged_again(collector: CollectorProcess) -> None:
    """With the shipper's token or without, the second delivery adds nothing."""
    body = encode_request(sample_spans(12, seed=53))
    statuses = [collector.post_body(body, x_spanlore_batch="b-1").status for _ in range(2)]

    assert statuses == [200, 200]
    assert collector.rows(
        "SELECT count() FROM otel_traces WHERE SpanAttributes['spanlore.session.id'] = 'session-53-0'"
    ) == [12]


def test_prepare_is_rows_of_valid_spans() -> None:
    """Decompression, decoding and rows in one step, off the event loop."""
    body = gzip.compress(encode_request(sample_spans(3, seed=54)))
    prepared = prepare(body, "gzip", False, 1)

    assert (len(prepared.rows), prepared.refused) == (3, 0)
    assert prepared.size_bytes == len(gzip.decompress(body))
    assert prepare(ExportTraceServiceRequest().SerializeToString(), "", False, 1).rows == ()


def test_logs_and_metrics_are_taken_like_spans(collector: CollectorProcess) -> None:
    """Protobuf and JSON, gzip, an answer of the same type, a repeated request stored once; both can be queried."""
    headers = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"}
    log = {"timeUnixNano": "1790000000000000000", "body": {"stringValue": "receiver test"}}
    logs = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}).encode()
    metrics = gzip.compress(request_of_all_kinds().SerializeToString())
    for _ in range(2):
        reply = collector.request("POST", "/v1/logs", logs, {"Content-Type": "application/json"})
        assert (reply.status, reply.json(), reply.headers["Content-Type"]) == (200, {}, "application/json")
        reply = collector.request("POST", "/v1/metrics", metrics, headers)
        partial = ExportMetricsServiceResponse.FromString(reply.body).partial_success
        assert (reply.status, partial.rejected_data_points) == (200, 1)

    assert collector.rows("SELECT Body FROM otel_logs WHERE Body = 'receiver test'") == ["receiver test"]
    for kind in KINDS:  # other tests send metrics of other names
        told = f"otel_metrics_{kind} WHERE MetricName IN ('g', 's', 'h', 'e', 'q')"
        assert int(collector.rows(f"SELECT count() FROM {told}")[0]) == 1, kind


@pytest.mark.parametrize("path", ["/v1/logs", "/v1/metrics"])
def test_bad_logs_and_metrics_are_told_as_traces_are(collector: CollectorProcess, path: str) -> None:
    """400 with a Status in the sender's encoding, 413 beyond the bound also when decompressed, 415 for other types."""
    bad = collector.request("POST", path, b"{", {"Content-Type": "application/json"})
    large = gzip.compress(b"\x00" * (MAX_BODY_BYTES + 1), 1)
    bomb = collector.request("POST", path, large, {"Content-Type": PROTOBUF, "Content-Encoding": "gzip"})
    other = collector.request("POST", path, b"x", {"Content-Type": "text/plain"})

    assert (bad.status, bad.json()["code"]) == (400, 3)
    assert (bomb.status, other.status) == (413, 415)


SPAN = {
    "traceId": "5b" * 16,
    "spanId": "5b" * 8,
    "name": "json-items",
    "startTimeUnixNano": "7",
    "endTimeUnixNano": "8",
}
POINT = {"timeUnixNano": "1790000000000000000", "asInt": "3"}
RECORD = {"body": {"stringValue": "json-items"}}
LINK = {"traceId": "no hex"}


@pytest.mark.parametrize(
    ("signal", "field", "good", "bad"),
    [
        ("traces", "rejectedSpans", SPAN, [{"spanId": "x"}, {"startTimeUnixNano": -5}, {"links": [LINK]}, {"name": 7}]),
        ("logs", "rejectedLogRecords", RECORD, [{"spanId": "abc"}, {"timeUnixNano": -1}, {"attributes": 5}]),
        ("metrics", "rejectedDataPoints", POINT, [{"asInt": "many"}, {"timeUnixNano": -1}, {"exemplars": [LINK]}]),
    ],
)  # fmt: skip
def test_a_bad_field_in_json_costs_its_own_item(
    collector: CollectorProcess, signal: str, field: str, good: Any, bad: list[Any]
) -> None:
    """The others are stored; how many were not is told with why, and counted."""
    items = [*({**good, **fault} for fault in bad), good]
    documents = {
        "traces": {"resourceSpans": [{"scopeSpans": [{"spans": items}]}]},
        "logs": {"resourceLogs": [{"scopeLogs": [{"logRecords": items}]}]},
        "metrics": {
            "resourceMetrics": [
                {"scopeMetrics": [{"metrics": [{"name": "json-items", "gauge": {"dataPoints": items}}]}]}
            ]
        },
    }
    where = {
        "traces": "otel_traces WHERE SpanName = 'json-items'",
        "logs": "otel_logs WHERE Body = 'json-items'",
        "metrics": "otel_metrics_gauge WHERE MetricName = 'json-items'",
    }[signal]

    def counted() -> int:
        told = collector.request("GET", "/v1/completeness").json()["collector"].get(signal, {"dropped": {}})
        return int(told["dropped"].get("malformed", 0))

    before = counted()
    body, json_type = json.dumps(documents[signal]).encode(), {"Content-Type": "application/json"}
    reply = collector.request("POST", f"/v1/{signal}", body, json_type)

    assert reply.status == 200
    assert reply.json()["partialSuccess"][field] == len(bad)
    assert "can't be read" in reply.json()["partialSuccess"]["errorMessage"]
    assert counted() - before == len(bad)
    assert collector.rows(f"SELECT count() FROM {where}") == [1]


def test_an_agents_own_telemetry_is_seen(collector: CollectorProcess) -> None:
    """Claude Code's events over OTLP/JSON are a session of the store, its cost once."""
    told = {"session.id": "otel-session", "request_id": "req_r1", "model": "claude-sonnet-4-5", "cost_usd": 0.125}
    record = {
        "timeUnixNano": "1790000000000000000",
        "body": {"stringValue": "claude_code.api_request"},
        "attributes": [
            {"key": key, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}
            for key, value in told.items()
        ],
    }
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    for _ in range(2):
        assert collector.request("POST", "/v1/logs", body, {"Content-Type": "application/json"}).status == 200

    sql = "SELECT inferences, toFloat64(cost_usd) FROM sessions WHERE session_id = 'otel-session'"
    assert [[int(n), cost] for n, cost in collector.rows(sql)] == [[1, 0.125]]


@pytest.mark.parametrize("is_first", [True, False], ids=["records first", "span first"])
def test_content_in_log_records_is_the_spans(collector: CollectorProcess, is_first: bool) -> None:
    """What SDKs of conventions 1.28-1.36 send: the span without content, its messages as events of its own."""
    trace, span = ("7a" if is_first else "7b") * 16, "7c" * 8
    session = f"late-session-{is_first}"
    told = {
        "traceId": trace,
        "spanId": span,
        "name": "chat gpt",
        "kind": 3,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.conversation.id", "value": {"stringValue": session}},
        ],
    }
    body = {"kvlistValue": {"values": [{"key": "content", "value": {"stringValue": f"No, use rg. {is_first}"}}]}}
    record = {"timeUnixNano": "1790000000000000001", "traceId": trace, "spanId": span, "body": body}
    record["eventName"] = "gen_ai.user.message"
    spans = ("/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [told]}]}]})
    logs = ("/v1/logs", {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    for path, document in (logs, spans, logs) if is_first else (spans, logs, spans):
        reply = collector.request("POST", path, json.dumps(document).encode(), {"Content-Type": "application/json"})
        assert reply.status == 200

    parts = (
        "SELECT p.role, c.body FROM message_parts AS p JOIN content AS c ON c.hash = p.content_hash "
        f"WHERE p.session_id = '{session}'"
    )
    assert collector.rows(parts) == [["user", f"No, use rg. {is_first}"]]
    human = f"SELECT channel, text, call_class FROM human_messages WHERE session_id = '{session}'"
    assert collector.rows(human) == [["user_message", f"No, use rg. {is_first}", "main"]]
