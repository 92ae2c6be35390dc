"""OTLP attributes as a SpanRecord has them, and the request whose attributes are read without an object for each.

Nearly all of a span's attributes came before, with the same bytes: the model, the harness, the session, small counts.
So a request is parsed with its spans' attributes left as serialized `KeyValue`s, and what short ones mean is
remembered.

Source: opentelemetry-proto 1.x, `trace/v1/trace.proto`, `common/v1/common.proto`; protobuf's "Encoding": an embedded
message and bytes are the same on the wire.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import orjson
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from spanlore.spans.record import AttributeValue

_MAX_KNOWN_BYTES = 192
"""Of an attribute that is remembered: names of models and tools, counts, ids of a session. Content is longer."""
_MAX_KNOWN = 8_192
_STRING_VALUE, _VALUE, _KEY = 0x0A, 0x12, 0x0A
"""Tags of `AnyValue.string_value`, `KeyValue.value` and `KeyValue.key`."""
_LAST_BYTE = 0x7F
"""A byte of a varint up to it is its last one."""


def attributes_of(pairs: Iterable[KeyValue]) -> dict[str, AttributeValue]:
    """OTLP attributes as a record has them."""
    out: dict[str, AttributeValue] = {}
    for pair in pairs:
        value = pair.value
        # What is not zero tells its own type, and `WhichOneof` is the dearest call of decoding.
        out[pair.key] = (
            value.string_value or value.int_value or value.bool_value or value.double_value or value_of(value)
        )
    return out


def value_of(value: AnyValue) -> AttributeValue:
    """One OTLP value as a record has it; '' when there is none."""
    match value.WhichOneof("value"):
        case "string_value":
            return value.string_value
        case "bool_value":
            return value.bool_value
        case "int_value":
            return value.int_value
        case "double_value":
            return value.double_value
        case "array_value":
            items = value.array_value.values
            if all(item.WhichOneof("value") == "string_value" for item in items):
                return tuple(item.string_value for item in items)
        case "bytes_value":
            return base64.b64encode(value.bytes_value).decode()
        case "kvlist_value":
            pass
        case _:
            return ""
    return orjson.dumps(_plain(value)).decode()


def _plain(value: AnyValue) -> Any:
    match value.WhichOneof("value"):
        case "array_value":
            return [_plain(item) for item in value.array_value.values]
        case "kvlist_value":
            return {pair.key: _plain(pair.value) for pair in value.kvlist_value.values}
        case None:
            return None
        case _:
            return value_of(value)


@cache
def lean_request() -> Any:
    """The class `ExportTraceServiceRequest` with the attributes of spans, events and links as bytes, for
    `lean_attributes`."""
    files: dict[str, FileDescriptorProto] = {}
    _collect(ExportTraceServiceRequest.DESCRIPTOR.file, files)
    pool = DescriptorPool()
    for file in files.values():
        if file.name == Span.DESCRIPTOR.file.name:
            _leave_attributes(file)
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(ExportTraceServiceRequest.DESCRIPTOR.full_name))


def _collect(descriptor: Any, files: dict[str, FileDescriptorProto]) -> None:
    """A file after those that it imports."""
    for imported in descriptor.dependencies:
        _collect(imported, files)
    file = FileDescriptorProto()
    descriptor.CopyToProto(file)
    files.setdefault(file.name, file)


def _leave_attributes(file: FileDescriptorProto) -> None:
    span = next(message for message in file.message_type if message.name == Span.DESCRIPTOR.name)
    for message in (span, *span.nested_type):
        for found in message.field:
            if found.name == "attributes":
                found.type = FieldDescriptorProto.TYPE_BYTES
                found.ClearField("type_name")


def lean_attributes(pairs: Iterable[bytes]) -> dict[str, AttributeValue]:
    """Serialized attributes as a record has them.

    Raises:
        DecodeError: one is no `KeyValue`.
    """
    out: dict[str, AttributeValue] = {}
    for pair in pairs:
        key, value = _known_attribute(pair) if len(pair) <= _MAX_KNOWN_BYTES else _lean_attribute(pair)
        out[key] = value
    return out


def _lean_attribute(pair: bytes) -> tuple[str, AttributeValue]:
    """What is plain text is cut out by hand, in a third of the time; the rest, and what is wrong, is protobuf's."""
    return _text_attribute(pair) or next(iter(attributes_of((KeyValue.FromString(pair),)).items()))


_known_attribute = lru_cache(_MAX_KNOWN)(_lean_attribute)


def _text_attribute(pair: bytes) -> tuple[str, str] | None:
    """A short key and a text, in this order and nothing else, which is how they are written; else None."""
    if len(pair) < 2 or pair[0] != _KEY or pair[1] > _LAST_BYTE:
        return None
    end = 2 + pair[1]
    at = end
    for tag in (_VALUE, _STRING_VALUE):
        at = _inside(pair, at, tag)
        if not at:
            return None
    try:
        return pair[2:end].decode(), pair[at:].decode()
    except UnicodeDecodeError:
        return None


def _inside(data: bytes, at: int, tag: int) -> int:
    """Where the inside of the field at `at` begins, which must have that tag and fill all the rest; else 0."""
    size, length = len(data), 0
    if at >= size or data[at] != tag:
        return 0
    for place in range(at + 1, min(at + 6, size)):
        length |= (data[place] & _LAST_BYTE) << 7 * (place - at - 1)
        if data[place] <= _LAST_BYTE:
            return place + 1 if place + 1 + length == size else 0
    return 0
