"""OTLP log requests → LogRecords and rows of `otel_logs`. Pure.

Source: opentelemetry-proto, `logs/v1/logs.proto`; the rows as collector-contrib's ClickHouse exporter writes them
(`exporter_logs.go`): the time is the observed one where a record has no own, a body that is no text is JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as ProtobufLogRecord

from spanlore.otlp.attributes import attributes_of, value_of
from spanlore.otlp.codec import MalformedOtlpError, ids_to_base64, read_json
from spanlore.otlp.json_items import Rejected, readable
from spanlore.spans.record import AttributeValue
from spanlore_collector.store.attributes import MAX_INT64, all_strings, string, strings


@dataclass(frozen=True, slots=True)
class LogRecord:
    """One log record or event, as it was sent."""

    time_ns: int
    """The event's own time, else the observed one; 0 when the sender gave neither."""
    event_name: str
    """The field of that name, else the attribute `event.name`; '' for a plain log record."""
    body: str
    attributes: Mapping[str, AttributeValue]
    resource: Mapping[str, AttributeValue]
    trace_id: bytes = b""
    span_id: bytes = b""
    flags: int = 0
    severity_text: str = ""
    severity_number: int = 0
    resource_schema_url: str = ""
    scope_schema_url: str = ""
    scope_name: str = ""
    scope_version: str = ""
    scope_attributes: Mapping[str, AttributeValue] | None = None


def decode_logs(data: bytes) -> list[LogRecord]:
    """The records of a serialized `ExportLogsServiceRequest`, in its order.

    Raises:
        MalformedOtlpError: not protobuf, or not this message.
    """
    try:
        return list(_records(ExportLogsServiceRequest.FromString(data)))
    except DecodeError as error:
        raise MalformedOtlpError(f"not an OTLP logs request: {error}") from None


def decode_json_logs(data: bytes, rejected: Rejected | None = None) -> list[LogRecord]:
    """The same from OTLP/JSON. Records that can't be read are left out and told `rejected`; without one they are an
    error.

    Raises:
        MalformedOtlpError: not JSON, or not this message.
    """

    def read(document: Any, rejected: Rejected | None) -> list[LogRecord]:
        for scope_logs in _json_scopes(document):
            records = scope_logs.get("logRecords") or ()
            if rejected is not None:
                scope_logs["logRecords"] = readable(records, _read_record, rejected)
            else:
                for record in records:
                    ids_to_base64(record, ("traceId", "spanId"))
        return list(_records(ParseDict(document, ExportLogsServiceRequest(), ignore_unknown_fields=True)))

    return read_json(data, "logs", read, rejected)


def _json_scopes(document: Any) -> Iterator[dict[str, Any]]:
    for resource_logs in document.get("resourceLogs") or ():
        yield from resource_logs.get("scopeLogs") or ()


def _read_record(record: dict[str, Any]) -> None:
    ids_to_base64(record, ("traceId", "spanId"))
    ParseDict(record, ProtobufLogRecord(), ignore_unknown_fields=True)


def log_rows(records: Iterable[LogRecord], now_ns: int) -> list[tuple[Any, ...]]:
    """Rows of `otel_logs`, in the order of `store.signals.COLUMNS`. A record without a time gets `now_ns`."""
    return [
        (
            min(record.time_ns or now_ns, MAX_INT64),
            record.trace_id.hex(),
            record.span_id.hex(),
            record.flags & 0xFF,
            record.severity_text,
            min(max(record.severity_number, 0), 255),
            str(record.resource.get("service.name", "")),
            record.body,
            record.resource_schema_url,
            strings(record.resource),
            record.scope_schema_url,
            record.scope_name,
            record.scope_version,
            strings(record.scope_attributes or {}),
            all_strings(record.attributes),
            record.event_name,
        )
        for record in records
    ]


def _records(request: ExportLogsServiceRequest) -> Iterator[LogRecord]:
    for resource_logs in request.resource_logs:
        resource = attributes_of(resource_logs.resource.attributes)
        for scope_logs in resource_logs.scope_logs:
            scope = scope_logs.scope
            scope_attributes = attributes_of(scope.attributes)
            for record in scope_logs.log_records:
                attributes = attributes_of(record.attributes)
                yield LogRecord(
                    time_ns=record.time_unix_nano or record.observed_time_unix_nano,
                    event_name=record.event_name or str(attributes.get("event.name", "")),
                    body=string(value_of(record.body)),
                    attributes=attributes,
                    resource=resource,
                    trace_id=record.trace_id,
                    span_id=record.span_id,
                    flags=record.flags,
                    severity_text=record.severity_text,
                    severity_number=int(record.severity_number),
                    resource_schema_url=resource_logs.schema_url,
                    scope_schema_url=scope_logs.schema_url,
                    scope_name=scope.name,
                    scope_version=scope.version,
                    scope_attributes=scope_attributes,
                )
