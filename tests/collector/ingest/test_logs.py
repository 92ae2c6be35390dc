"""OTLP logs become records and rows."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from spanlore.otlp.codec import MalformedOtlpError
from spanlore_collector.ingest.logs import decode_json_logs, decode_logs, log_rows
from spanlore_collector.store.signals import COLUMNS

DOCUMENT = b"""{"resourceLogs": [{
  "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "claude-code"}}]},
  "schemaUrl": "https://r",
  "scopeLogs": [{"scope": {"name": "s", "version": "1"}, "schemaUrl": "https://s", "logRecords": [
    {"timeUnixNano": "1790000000000000001", "severityNumber": 9, "severityText": "INFO", "flags": 1,
     "traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174", "eventName": "x.y",
     "body": {"stringValue": "hello"}, "attributes": [{"key": "n", "value": {"intValue": "5"}}], "new": 1},
    {"observedTimeUnixNano": 7, "body": {"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": true}}]}},
     "attributes": [{"key": "event.name", "value": {"stringValue": "older"}}]},
    {}
  ]}]}]}"""


def test_json_records_have_the_exporters_columns() -> None:
    """Hex ids, 64-bit integers as text, unknown keys left out; bodies that are no text are JSON."""
    records = decode_json_logs(DOCUMENT)
    first, second, third = [dict(zip(COLUMNS["otel_logs"], row, strict=True)) for row in log_rows(records, 99)]

    assert first["Timestamp"] == 1_790_000_000_000_000_001
    assert (first["TraceId"], first["SpanId"]) == ("5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174")
    assert (first["Body"], first["EventName"], first["ServiceName"]) == ("hello", "x.y", "claude-code")
    assert (first["LogAttributes"], first["TraceFlags"], first["SeverityNumber"]) == ({"n": "5"}, 1, 9)
    assert (first["ResourceSchemaUrl"], first["ScopeSchemaUrl"]) == ("https://r", "https://s")
    assert (second["Timestamp"], second["Body"], second["EventName"]) == (7, '{"a":true}', "older")
    assert (third["Timestamp"], third["Body"]) == (99, "")


def test_protobuf_gives_the_same_records() -> None:
    """Both encodings of one request are the same records."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    record = scope.log_records.add(time_unix_nano=5, event_name="e", trace_id=b"t" * 16)
    record.body.string_value = "b"
    json_form = (
        b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":5,"eventName":"e",'
        b'"traceId":"' + (b"t" * 16).hex().encode() + b'","body":{"stringValue":"b"}}]}]}]}'
    )

    assert decode_logs(request.SerializeToString()) == decode_json_logs(json_form)


@pytest.mark.parametrize("body", [b"\xff\xff", b"{", b"[]", b'{"resourceLogs": 3}'])
def test_what_is_no_request_is_told(body: bytes) -> None:
    """Neither form takes what it cannot read."""
    with pytest.raises(MalformedOtlpError, match="not an OTLP"):
        (decode_logs if body[0] == 255 else decode_json_logs)(body)
