"""SpanRecord ↔ OTLP protobuf."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from spanlore.otlp.codec import MalformedOtlpError, decode_json_request, decode_request, encode_request
from spanlore.spans.record import SpanEvent, SpanKind, SpanLink, SpanRecord, StatusCode

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
INT64 = st.integers(-(2**63), 2**63 - 1)
TIMES_NS = st.integers(0, 2**64 - 1)
VALUES = TEXTS | st.booleans() | INT64 | st.floats(allow_nan=False) | st.lists(TEXTS, max_size=3).map(tuple)
ATTRIBUTES = st.dictionaries(TEXTS, VALUES, max_size=4)
IDS = st.binary(min_size=8, max_size=8)
TRACE_IDS = st.binary(min_size=16, max_size=16)


def records() -> st.SearchStrategy[SpanRecord]:
    """Any record."""
    return st.builds(
        SpanRecord,
        trace_id=TRACE_IDS,
        span_id=IDS,
        parent_span_id=st.none() | IDS,
        name=TEXTS,
        kind=st.sampled_from(SpanKind),
        start_time_ns=TIMES_NS,
        end_time_ns=TIMES_NS,
        attributes=ATTRIBUTES,
        resource=ATTRIBUTES,
        scope_name=TEXTS,
        scope_version=TEXTS,
        status_code=st.sampled_from(StatusCode),
        status_message=TEXTS,
        events=st.lists(st.builds(SpanEvent, TIMES_NS, TEXTS, ATTRIBUTES), max_size=2).map(tuple),
        links=st.lists(st.builds(SpanLink, TRACE_IDS, IDS, ATTRIBUTES, TEXTS), max_size=2).map(tuple),
        trace_state=TEXTS,
        schema_url=TEXTS,
    )


@settings(max_examples=60, deadline=None)
@given(records())
def test_round_trip(record: SpanRecord) -> None:
    """Decoding what was encoded gives the record back, value types included."""
    (back,) = decode_request(encode_request([record]))

    assert back == record
    assert {k: type(v) for k, v in back.attributes.items()} == {k: type(v) for k, v in record.attributes.items()}


@settings(max_examples=25, deadline=None)
@given(st.lists(records(), max_size=4), st.lists(records(), max_size=4))
def test_concatenation_merges_requests(first: list[SpanRecord], second: list[SpanRecord]) -> None:
    """Two serialized requests one after another are the request with the spans of both."""
    both = decode_request(encode_request(first) + encode_request(second))

    assert sorted(both, key=repr) == sorted([*first, *second], key=repr)


def test_order_is_kept_and_resources_are_written_once() -> None:
    """Spans of one resource and scope stay in order under a single ResourceSpans."""
    spans = [_span(n, resource={"service.name": "claude-code"}) for n in range(1, 6)]
    request = ExportTraceServiceRequest.FromString(encode_request(spans))

    assert len(request.resource_spans) == 1
    assert decode_request(encode_request(spans)) == spans


def test_resources_that_differ_in_type_only_stay_apart() -> None:
    """1 and True are equal to Python and not the same attribute."""
    spans = [_span(1, resource={"x": 1}), _span(2, resource={"x": True})]

    assert [type(back.resource["x"]) for back in decode_request(encode_request(spans))] == [int, bool]


def test_foreign_values_are_kept_as_text() -> None:
    """Nested values and mixed lists become JSON, bytes base64, an unset value the empty text."""
    request = ExportTraceServiceRequest()
    attributes = request.resource_spans.add().scope_spans.add().spans.add(trace_id=b"t" * 16).attributes
    attributes.add(key="unset")
    attributes.add(key="bytes").value.bytes_value = b"\xff"
    mixed = attributes.add(key="mixed").value.array_value.values
    mixed.add().int_value = 1
    mixed.add().string_value = "a"
    attributes.add(key="map").value.kvlist_value.values.add(key="k").value.double_value = 0.5
    (record,) = decode_request(request.SerializeToString())

    assert record.attributes == {"unset": "", "bytes": "/w==", "mixed": '[1,"a"]', "map": '{"k":0.5}'}
    assert record.schema_url == ""


def test_lone_surrogates_do_not_stop_a_batch() -> None:
    """Text that UTF-8 cannot hold is mended rather than refused."""
    (back,) = decode_request(encode_request([_span(1, attributes={"a": "x\ud800y", "b": ("\udfff",)})]))

    assert back.attributes == {"a": "x?y", "b": ("?",)}


def test_not_a_number_survives() -> None:
    """NaN is a double like any other."""
    (back,) = decode_request(encode_request([_span(1, attributes={"n": math.nan})]))

    assert math.isnan(float(str(back.attributes["n"])))


@pytest.mark.parametrize("data", [b"\xff", b"hello, world", b"\x0a\x7f"])
def test_other_bytes_are_the_senders_fault(data: bytes) -> None:
    """Bytes that are no request raise the error that names the sender."""
    with pytest.raises(MalformedOtlpError, match="not an OTLP trace request"):
        decode_request(data)


def test_nothing_is_an_empty_request() -> None:
    """No records give no bytes, and no bytes give no records."""
    assert encode_request([]) == b""
    assert decode_request(b"") == []


def _span(number: int, **fields: object) -> SpanRecord:
    values: dict[str, object] = {
        "trace_id": b"t" * 16,
        "span_id": number.to_bytes(8, "big"),
        "parent_span_id": None,
        "name": f"span {number}",
        "kind": SpanKind.INTERNAL,
        "start_time_ns": number,
        "end_time_ns": number + 1,
    }
    return SpanRecord(**{**values, **fields})  # type: ignore[arg-type]


def test_half_a_character_in_json_does_not_stop_a_batch() -> None:
    """JavaScript writes the half of a cut pair as an escape: it becomes a question mark, whole pairs stay."""
    span = (
        b'{"traceId":"%s","spanId":"%s","name":"cut \\ud83d","attributes":[{"key":"a","value":{"stringValue":'
        b'"\\udc00 \\ud83d\\ude00 \\\\ud83d"}}]}' % (b"5B" * 16, b"EE" * 8)
    )
    body = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}'

    (found,) = decode_json_request(body % span)

    assert (found.name, found.attributes) == ("cut ?", {"a": "? \U0001f600 \\ud83d"})
    with pytest.raises(MalformedOtlpError):
        decode_json_request(body % span + b"\\ud83d")
