"""OTLP as senders get it wrong: whatever comes is answered as the specification says, and harms nobody else.

Bodies are made by hypothesis: requests of any shape, cut off, with bytes changed, in the wrong encoding or of the wrong
type. After all of them the collector stores on, and its counters say what came of each item.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from spanlore_collector.bench.sample import sample_spans
from spanlore_collector.ingest.bodies import MAX_BODY_BYTES
from support.collector_process import PROTOBUF, CollectorProcess, Reply, send

JSON = "application/json"
PATHS = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}
NAMES = [
    "gen_ai.operation.name",
    "gen_ai.request.model",
    "gen_ai.conversation.id",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.usage.input_tokens",
    "gen_ai.response.finish_reasons",
    "spanlore.session.id",
    "spanlore.cost.usd",
    "spanlore.turn.index",
    "session.id",
    "event.name",
    "service.name",
    "request_id",
]
WORDS = [
    "chat",
    "execute_tool",
    "invoke_agent",
    "text",
    "claude_code.api_request",
    "codex.sse_event",
    "gen_ai.choice",
    "gen_ai.user.message",
    "gen_ai.client.inference.operation.details",
    "1e999",
    "-1",
    "[]",
    "{}",
    "NaN",
]
FEW = settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))

texts = st.one_of(
    st.sampled_from(WORDS), st.text(max_size=40), st.just('[{"role": "user", "parts": [{"type": "text"}]}]')
)
numbers = st.integers(-(2**63), 2**63 - 1)
times = st.one_of(st.integers(0, 2**64 - 1), st.just(1_790_000_000_000_000_000))
ids = st.one_of(st.binary(min_size=16, max_size=16), st.binary(max_size=20))


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> AnyValue:
    """Any value that OTLP has, nested ones too."""
    value = AnyValue()
    kind = draw(st.sampled_from("tnbdyakx"))
    if kind == "t":
        value.string_value = draw(texts)
    elif kind == "n":
        value.int_value = draw(numbers)
    elif kind == "b":
        value.bool_value = draw(st.booleans())
    elif kind == "d":
        value.double_value = draw(st.floats())
    elif kind == "y":
        value.bytes_value = draw(st.binary(max_size=20))
    elif kind == "a":
        value.array_value.SetInParent()
        if depth:
            value.array_value.values.extend(draw(st.lists(values(depth - 1), max_size=3)))
    elif kind == "k":
        value.kvlist_value.SetInParent()
        for key in draw(st.lists(texts, max_size=3 if depth else 0)):
            value.kvlist_value.values.add(key=key).value.CopyFrom(draw(values(depth - 1)))
    return value


def put(draw: st.DrawFn, attributes: Any) -> None:
    """Some attributes, of names that mean something and of others."""
    for key in draw(st.lists(st.one_of(st.sampled_from(NAMES), texts), max_size=6)):
        attributes.add(key=key).value.CopyFrom(draw(values()))


@st.composite
def traces(draw: st.DrawFn) -> ExportTraceServiceRequest:
    """A request that protobuf can write."""
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add(schema_url=draw(texts))
    put(draw, resource.resource.attributes)
    scope = resource.scope_spans.add()
    scope.scope.name = draw(texts)
    for _ in range(draw(st.integers(0, 3))):
        span = scope.spans.add(
            trace_id=draw(ids),
            span_id=draw(st.one_of(st.binary(min_size=8, max_size=8), ids)),
            parent_span_id=draw(ids),
            name=draw(texts),
            start_time_unix_nano=draw(times),
            end_time_unix_nano=draw(times),
        )
        span.kind = draw(st.integers(-1, 9))  # type: ignore[assignment]
        span.status.code = draw(st.integers(-1, 9))  # type: ignore[assignment]
        put(draw, span.attributes)
        for _ in range(draw(st.integers(0, 2))):
            event = span.events.add(name=draw(texts), time_unix_nano=draw(times))
            put(draw, event.attributes)
            span.links.add(trace_id=draw(ids), span_id=draw(ids))
    return request


@st.composite
def logs(draw: st.DrawFn) -> ExportLogsServiceRequest:
    """A request that protobuf can write."""
    request = ExportLogsServiceRequest()
    resource = request.resource_logs.add()
    put(draw, resource.resource.attributes)
    scope = resource.scope_logs.add()
    for _ in range(draw(st.integers(0, 3))):
        record = scope.log_records.add(
            time_unix_nano=draw(times),
            observed_time_unix_nano=draw(times),
            trace_id=draw(ids),
            span_id=draw(st.one_of(st.binary(min_size=8, max_size=8), ids)),
            event_name=draw(texts),
            flags=draw(st.integers(0, 2**32 - 1)),
            severity_text=draw(texts),
        )
        record.severity_number = draw(st.integers(-1, 99))  # type: ignore[assignment]
        record.body.CopyFrom(draw(values()))
        put(draw, record.attributes)
    return request


@st.composite
def metrics(draw: st.DrawFn) -> ExportMetricsServiceRequest:
    """A request that protobuf can write, of every kind of metric."""
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add().scope_metrics.add()
    for kind in draw(
        st.lists(st.sampled_from(["gauge", "sum", "histogram", "exponential_histogram", "summary"]), max_size=3)
    ):
        metric = scope.metrics.add(name=draw(texts), unit=draw(texts))
        point = getattr(metric, kind).data_points.add(time_unix_nano=draw(times), start_time_unix_nano=draw(times))
        put(draw, point.attributes)
        if kind in ("gauge", "sum"):
            point.as_int = draw(numbers)
        else:
            point.count, point.sum = draw(st.integers(0, 2**64 - 1)), draw(st.floats())
        if kind == "histogram":
            point.bucket_counts.extend(draw(st.lists(st.integers(0, 2**64 - 1), max_size=3)))
            point.explicit_bounds.extend(draw(st.lists(st.floats(), max_size=3)))
        if kind == "summary":
            for _ in range(draw(st.integers(0, 2))):
                point.quantile_values.add(quantile=draw(st.floats()), value=draw(st.floats()))
    return request


KINDS: dict[str, st.SearchStrategy[Any]] = {"/v1/traces": traces(), "/v1/logs": logs(), "/v1/metrics": metrics()}


@pytest.fixture(scope="module")
def receiving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectorProcess]:
    """A collector of its own: what comes here is in nobody's way."""
    with CollectorProcess(tmp_path_factory.mktemp("otlp")) as collector:
        yield collector


def post(collector: CollectorProcess, path: str, body: bytes, kind: str = PROTOBUF, encoding: str = "") -> Reply:
    """One request."""
    headers = {"Content-Type": kind, **({"Content-Encoding": encoding} if encoding else {})}
    return collector.request("POST", path, body, headers)


def assert_is_told(reply: Reply, kind: str) -> None:
    """A status that says what to do, and a `google.rpc.Status` in the sender's own encoding."""
    assert reply.status in (200, 400, 413, 415), (reply.status, reply.body[:500])
    if reply.status == 415:
        return
    assert reply.headers["Content-Type"] == kind
    if reply.status != 200 and kind == JSON:
        assert reply.json()["message"]
    elif reply.status != 200:
        assert reply.body[:1] == b"\x08"


@pytest.mark.parametrize("path", PATHS)
def test_any_request_is_stored(receiving: CollectorProcess, path: str) -> None:
    """What protobuf can write is taken, as protobuf and as JSON, whatever its values are."""

    @FEW
    @given(request=KINDS[path], is_packed=st.booleans())
    def check(request: Any, is_packed: bool) -> None:
        body = request.SerializeToString()
        reply = post(receiving, path, gzip.compress(body) if is_packed else body, encoding="gzip" if is_packed else "")
        assert reply.status == 200, (reply.status, reply.body[:500])
        assert post(receiving, path, _as_json(request), JSON).status == 200

    check()


def _as_json(request: Any) -> bytes:
    """OTLP/JSON: protobuf's own, with hex ids."""
    document = MessageToDict(request)

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                if key in ("traceId", "spanId", "parentSpanId") and isinstance(value, str):
                    node[key] = base64.b64decode(value).hex()
                else:
                    walk(value)
        elif isinstance(node, list):
            for item in node:
                walk(item)

    walk(document)
    return json.dumps(document).encode()


@pytest.mark.parametrize("path", PATHS)
def test_broken_bodies_are_told(receiving: CollectorProcess, path: str) -> None:
    """Cut off, changed, of another type, in an encoding that they are not in: an answer, never a 500."""

    @FEW
    @given(
        request=KINDS[path],
        kind=st.sampled_from([PROTOBUF, JSON, "text/plain", "application/json; charset=utf-8", ""]),
        encoding=st.sampled_from(["", "gzip", "deflate", "br", "gzip, gzip", "identity", "GZIP"]),
        is_packed=st.booleans(),
        cut=st.integers(0, 400),
        changes=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=4),
    )
    def check(
        request: Any, kind: str, encoding: str, is_packed: bool, cut: int, changes: list[tuple[int, int]]
    ) -> None:
        plain = _as_json(request) if kind.startswith(JSON) else request.SerializeToString()
        body = bytearray(gzip.compress(plain) if is_packed else plain)
        for place, byte in changes:
            if place < len(body):
                body[place] = byte
        reply = post(receiving, path, bytes(body[: len(body) - cut if cut < len(body) else None]), kind, encoding)
        assert_is_told(reply, JSON if kind.startswith(JSON) else PROTOBUF)

    check()


@pytest.mark.parametrize("path", PATHS)
def test_any_json_is_told(receiving: CollectorProcess, path: str) -> None:
    """JSON of any shape at the places where lists and objects are expected."""
    inner = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
        lambda inside: st.one_of(
            st.lists(inside, max_size=3),
            st.dictionaries(
                st.sampled_from(
                    [
                        "resourceSpans",
                        "scopeSpans",
                        "spans",
                        "resourceLogs",
                        "scopeLogs",
                        "logRecords",
                        "resourceMetrics",
                        "scopeMetrics",
                        "metrics",
                        "gauge",
                        "dataPoints",
                        "attributes",
                        "key",
                        "value",
                        "stringValue",
                        "intValue",
                        "arrayValue",
                        "traceId",
                        "spanId",
                        "links",
                        "events",
                        "body",
                        "timeUnixNano",
                    ]
                ),
                inside,
                max_size=4,
            ),
        ),
        max_leaves=20,
    )

    @FEW
    @given(document=inner)
    def check(document: Any) -> None:
        assert_is_told(post(receiving, path, json.dumps(document).encode(), JSON), JSON)

    check()


@pytest.mark.parametrize("path", PATHS)
def test_bombs_are_refused(receiving: CollectorProcess, path: str) -> None:
    """More than 64 MiB when unpacked, in one member or in many, are 413; memory stays what it was."""
    member = gzip.compress(bytes(MAX_BODY_BYTES // 4), 9)
    for encoding, body in (("gzip", member * 5), ("deflate", zlib.compress(bytes(MAX_BODY_BYTES + 1), 9))):
        assert post(receiving, path, body, encoding=encoding).status == 413
    nested = b"[" * 200_000
    assert post(receiving, path, b'{"resourceSpans":' + nested, JSON).status == 400
    deep = bytearray()
    for _ in range(2_000):
        deep = bytearray(b"\x0a" + _varint(len(deep)) + deep)
    assert post(receiving, path, bytes(deep)).status in (200, 400)
    pages = int(Path(f"/proc/{receiving.pid}/statm").read_text().split()[1])
    assert pages * 4096 < 900 * 1024**2


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def test_afterwards_it_stores_as_before(receiving: CollectorProcess) -> None:
    """Nothing of all that stands in the way of a good sender; received = stored + refused, by kind."""
    spans = sample_spans(64, seed=761)
    assert receiving.post_spans(spans).status == 200
    log = ExportLogsServiceRequest()
    log.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1_790_000_000_000_000_000)
    metric = ExportMetricsServiceRequest()
    gauge = metric.resource_metrics.add().scope_metrics.add().metrics.add(name="good").gauge
    gauge.data_points.add(time_unix_nano=1_790_000_000_000_000_000, as_int=1)
    assert post(receiving, "/v1/logs", log.SerializeToString()).status == 200
    assert post(receiving, "/v1/metrics", metric.SerializeToString()).status == 200
    counted = receiving.rows(
        "SELECT count() FROM otel_traces WHERE SpanAttributes['spanlore.session.id'] LIKE 'session-761-%'"
    )
    assert counted == [64]
    assert not [line for line in receiving.log if "Error handling request" in line or "Traceback" in line]
    text = send(f"{receiving.url}/metrics", "GET", None, {"Authorization": f"Bearer {receiving.token}"}).body.decode()
    totals = {
        line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")
    }
    for signal, reason in (("traces", "invalid_ids"), ("logs", ""), ("metrics", "unknown_kind")):
        came = totals[f'spanlore_collector_received_total{{signal="{signal}"}}']
        stored = totals[f'spanlore_collector_stored_total{{signal="{signal}"}}']
        dropped = totals.get(f'spanlore_collector_dropped_total{{reason="{reason}",signal="{signal}"}}', 0)
        dropped += totals.get(f'spanlore_collector_dropped_total{{signal="{signal}",reason="{reason}"}}', 0)
        assert came == stored + dropped, signal
