"""Attributes read from their bytes, against protobuf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from spanlore.otlp.attributes import attributes_of, lean_attributes
from spanlore.otlp.codec import decode_request, encode_request
from spanlore.spans.record import AttributeValue, SpanKind, SpanRecord

TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
INT64 = st.integers(-(2**63), 2**63 - 1)
VALUES = TEXTS | st.booleans() | INT64 | st.floats(allow_nan=False) | st.lists(TEXTS, max_size=3).map(tuple)


@settings(max_examples=200, deadline=None)
@given(TEXTS | st.text(min_size=100, max_size=40_000), VALUES, st.data())
def test_an_attribute_is_what_protobuf_says(key: str, value: AttributeValue, data: st.DataObject) -> None:
    """Attributes are read from their bytes, the second time from memory: always what protobuf makes of the same bytes,
    whole, cut off or with a byte changed; what it refuses is refused."""
    request = ExportTraceServiceRequest.FromString(encode_request([span_with({key: value})]))
    pair = request.resource_spans[0].scope_spans[0].spans[0].attributes[0].SerializeToString()
    at = data.draw(st.integers(0, len(pair) - 1))
    changed = pair[:at] + bytes([data.draw(st.integers(0, 255))]) + pair[at + 1 :]

    for some in (pair, pair[:at], changed):
        for _ in range(2):
            assert outcome_of(lean_attributes, [some]) == outcome_of(by_protobuf, some)


def test_more_attributes_than_are_remembered_are_read_right() -> None:
    """What is remembered is bounded and begins anew: ten thousand distinct attributes, then the first again."""
    many: dict[str, AttributeValue] = {f"key-{number}": number for number in range(10_000)}

    for _ in range(2):
        (back,) = decode_request(encode_request([span_with(many)]))
        assert back.attributes == many


def span_with(attributes: dict[str, AttributeValue]) -> SpanRecord:
    """A span that has nothing else."""
    return SpanRecord(b"t" * 16, b"s" * 8, None, "n", SpanKind.CLIENT, 1, 2, attributes)


def by_protobuf(pair: bytes) -> dict[str, AttributeValue]:
    """The attribute as protobuf reads it."""
    return attributes_of([KeyValue.FromString(pair)])


def outcome_of(read: Callable[[Any], dict[str, AttributeValue]], data: Any) -> str:
    """What is read, with its types and NaN as text, or that it is refused."""
    try:
        return repr(read(data))
    except DecodeError:
        return "refused"
