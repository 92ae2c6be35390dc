"""SpanRecord ↔ OTLP `ExportTraceServiceRequest`: protobuf, and JSON on the way in.

`encode_request` and `decode_request` are exact inverses for what a SpanRecord can express, as long as its records are
grouped as they come (the order of spans is kept within one resource and scope). Several serialized requests put one
after another are one valid request, because `resource_spans` is a repeated field: the proxy's shipper relies on it.

What foreign senders write and a SpanRecord cannot express is kept as text: nested values and mixed lists as JSON, bytes
as base64. Lone surrogates, which JSON allows and protobuf refuses, become `?`.

Source: opentelemetry-proto 1.x, `trace/v1/trace.proto`, `common/v1/common.proto`; docs/specification.md of that
repository.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from spanlore.otlp.attributes import attributes_of, lean_attributes, lean_request
from spanlore.otlp.json_items import FAULTS, Rejected, readable
from spanlore.spans.record import AttributeValue, SpanEvent, SpanKind, SpanLink, SpanRecord, StatusCode

_KINDS = (
    SpanKind.UNSPECIFIED,
    SpanKind.INTERNAL,
    SpanKind.SERVER,
    SpanKind.CLIENT,
    SpanKind.PRODUCER,
    SpanKind.CONSUMER,
)
"""By the number of `Span.SpanKind`."""
_KIND_NUMBERS = {kind: number for number, kind in enumerate(_KINDS)}


class MalformedOtlpError(ValueError):
    """The sender's bytes are not an OTLP trace request."""


def encode_request(records: Sequence[SpanRecord]) -> bytes:
    """One serialized `ExportTraceServiceRequest`; no records give no bytes, which is an empty request."""
    request = ExportTraceServiceRequest()
    resources: dict[tuple[Any, ...], ResourceSpans] = {}
    scopes: dict[tuple[Any, ...], ScopeSpans] = {}
    for record in records:
        resource_key = (record.schema_url, *_key(record.resource))
        scope_key = (resource_key, record.scope_name, record.scope_version)
        scope = scopes.get(scope_key)
        if scope is None:
            resource = resources.get(resource_key)
            if resource is None:
                resource = resources[resource_key] = request.resource_spans.add(schema_url=record.schema_url)
                _put_attributes(resource.resource.attributes, record.resource)
            scope = scopes[scope_key] = resource.scope_spans.add(schema_url=record.schema_url)
            scope.scope.name, scope.scope.version = _text(record.scope_name), _text(record.scope_version)
        _put_span(scope.spans.add(), record)
    return request.SerializeToString()


def decode_request(data: bytes) -> list[SpanRecord]:
    """The spans of a serialized request, in its order. Ids are as sent; whether they are valid is for the caller.

    Raises:
        MalformedOtlpError: not protobuf, or not this message.
    """
    try:
        return _records_of(lean_request().FromString(data))
    except DecodeError as error:
        raise MalformedOtlpError(f"not an OTLP trace request: {error}") from None


def decode_json_request(data: bytes, rejected: Rejected | None = None) -> list[SpanRecord]:
    """The same from OTLP/JSON: ids are hex there, keys lowerCamelCase, unknown ones are left out.

    Spans that can't be read are left out and told `rejected`; without one they are an error.

    Raises:
        MalformedOtlpError: not JSON, or not this message.
    """

    def read(document: Any, rejected: Rejected | None) -> list[SpanRecord]:
        for scope_spans in _json_scopes(document):
            spans = scope_spans.get("spans") or ()
            if rejected is not None:
                scope_spans["spans"] = readable(spans, _read_span, rejected)
            else:
                for span in spans:
                    _ids_of_span(span)
        request = ParseDict(document, ExportTraceServiceRequest(), ignore_unknown_fields=True)
        return decode_request(request.SerializeToString())

    return read_json(data, "trace", read, rejected)


def read_json[T](
    data: bytes, signal: str, read: Callable[[Any, Rejected | None], T], rejected: Rejected | None = None
) -> T:
    """What `read` makes of the JSON of a request: of all of it at once, else, with `rejected`, item by item. `read` may
    change the document.

    Raises:
        MalformedOtlpError: not JSON, or not the message of that signal.
    """
    try:
        return read(json_document(data), None)
    except FAULTS as error:
        fault: BaseException = error
    try:
        if rejected is not None:
            # From the beginning: ids before the fault are changed already.
            return read(json_document(data), rejected)
    except FAULTS as error:
        fault = error
    raise MalformedOtlpError(f"not an OTLP/JSON {signal} request: {fault}") from None


def json_document(data: bytes) -> Any:
    """The JSON of a body. JavaScript cuts texts in the middle of a character and writes the half as `\\ud83d`, which
    orjson refuses: it becomes `?`, since a batch must not be lost for it.

    Raises:
        ValueError: not JSON.
    """
    try:
        return orjson.loads(data or b"{}")
    except orjson.JSONDecodeError:
        if b"\\ud" not in data.lower():
            raise
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return orjson.loads(text.encode("utf-8", "replace"))


def _records_of(request: Any) -> list[SpanRecord]:
    """The spans of a lean request. Records of one resource share its attribute mapping."""
    out: list[SpanRecord] = []
    for resource_spans in request.resource_spans:
        resource = attributes_of(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            name, version = scope.name, scope.version
            schema_url = scope_spans.schema_url or resource_spans.schema_url
            out.extend(_record(span, resource, name, version, schema_url) for span in scope_spans.spans)
    return out


def _json_scopes(document: Any) -> Iterator[dict[str, Any]]:
    for resource_spans in document.get("resourceSpans") or ():
        yield from resource_spans.get("scopeSpans") or ()


def _ids_of_span(span: dict[str, Any]) -> None:
    ids_to_base64(span, ("traceId", "spanId", "parentSpanId"))
    for link in span.get("links") or ():
        ids_to_base64(link, ("traceId", "spanId"))


def _read_span(span: dict[str, Any]) -> None:
    _ids_of_span(span)
    ParseDict(span, Span(), ignore_unknown_fields=True)


def ids_to_base64(into: dict[str, Any], keys: tuple[str, ...]) -> None:
    """Hex ids of OTLP/JSON as protobuf's own JSON mapping wants them: base64."""
    for key in keys:
        if into.get(key):
            into[key] = base64.b64encode(bytes.fromhex(into[key])).decode()


def _put_span(span: Span, record: SpanRecord) -> None:
    span.trace_id, span.span_id = record.trace_id, record.span_id
    if record.parent_span_id is not None:
        span.parent_span_id = record.parent_span_id
    span.name = _text(record.name)
    span.kind = _KIND_NUMBERS[record.kind]  # type: ignore[assignment]  # the stub wants its own NewType
    span.start_time_unix_nano, span.end_time_unix_nano = record.start_time_ns, record.end_time_ns
    span.trace_state = _text(record.trace_state)
    _put_attributes(span.attributes, record.attributes)
    if record.status_code is not StatusCode.UNSET or record.status_message:
        span.status.code = record.status_code.value  # type: ignore[assignment]  # the same
        span.status.message = _text(record.status_message)
    for event in record.events:
        added = span.events.add(time_unix_nano=event.time_ns, name=_text(event.name))
        _put_attributes(added.attributes, event.attributes)
    for link in record.links:
        to = span.links.add(trace_id=link.trace_id, span_id=link.span_id, trace_state=_text(link.trace_state))
        _put_attributes(to.attributes, link.attributes)


def _put_attributes(into: Any, attributes: Mapping[str, AttributeValue]) -> None:
    for key, value in attributes.items():
        pair = into.add()
        pair.key = _text(key)
        _put_value(pair.value, value)


def _put_value(into: AnyValue, value: AttributeValue) -> None:
    # bool before int: True is an int too.
    if isinstance(value, str):
        into.string_value = _text(value)
    elif isinstance(value, bool):
        into.bool_value = value
    elif isinstance(value, int):
        into.int_value = value
    elif isinstance(value, float):
        into.double_value = value
    else:
        into.array_value.SetInParent()
        for word in value:
            into.array_value.values.add(string_value=_text(word))


def _record(span: Any, resource: Mapping[str, AttributeValue], name: str, version: str, schema_url: str) -> SpanRecord:
    kind, status = span.kind, span.status
    return SpanRecord(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_span_id=span.parent_span_id or None,
        name=span.name,
        kind=_KINDS[kind] if 0 <= kind < len(_KINDS) else SpanKind.UNSPECIFIED,
        start_time_ns=span.start_time_unix_nano,
        end_time_ns=span.end_time_unix_nano,
        attributes=lean_attributes(span.attributes),
        resource=resource,
        scope_name=name,
        scope_version=version,
        status_code=StatusCode(status.code) if status.code in (0, 1, 2) else StatusCode.UNSET,
        status_message=status.message,
        events=tuple(SpanEvent(e.time_unix_nano, e.name, lean_attributes(e.attributes)) for e in span.events),
        links=tuple(
            SpanLink(to.trace_id, to.span_id, lean_attributes(to.attributes), to.trace_state) for to in span.links
        ),
        trace_state=span.trace_state,
        schema_url=schema_url,
    )


def _key(attributes: Mapping[str, AttributeValue]) -> tuple[Any, ...]:
    """Hashable identity of a resource. 1, 1.0 and True are equal in Python and different on the wire."""
    return tuple((key, type(value), value) for key, value in attributes.items())


def _text(text: str) -> str:
    # ASCII is told by a flag of the string; other valid text by the encoder itself. Only what it refuses is mended.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text
