"""SpanRecord: one finished span, before it is OTLP and after.

Ids are bytes inside and hex at the borders. Attribute values are what OTLP can carry: str, bool, int, float and
lists of str. A record is complete when it is made; nothing changes one afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from spanlore.semconv.gen_ai import SCHEMA_URL

type AttributeValue = str | bool | int | float | tuple[str, ...]


class SpanKind(StrEnum):
    """Spelled as the collector-contrib ClickHouse exporter writes them."""

    INTERNAL = "Internal"
    CLIENT = "Client"
    SERVER = "Server"
    PRODUCER = "Producer"
    CONSUMER = "Consumer"
    UNSPECIFIED = "Unspecified"


class StatusCode(IntEnum):
    """OTLP's status codes."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened during a span."""

    time_ns: int
    name: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A span that this one belongs with although it is not its parent."""

    trace_id: bytes
    span_id: bytes
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    trace_state: str = ""


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One finished span."""

    trace_id: bytes
    """16 bytes."""
    span_id: bytes
    """8 bytes."""
    parent_span_id: bytes | None
    """8 bytes, None for a root."""
    name: str
    kind: SpanKind
    start_time_ns: int
    end_time_ns: int
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    resource: Mapping[str, AttributeValue] = field(default_factory=dict)
    """Attributes of the resource; `service.name` among them."""
    scope_name: str = "spanlore"
    scope_version: str = ""
    status_code: StatusCode = StatusCode.UNSET
    status_message: str = ""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[SpanLink, ...] = ()
    trace_state: str = ""
    schema_url: str = SCHEMA_URL
    """Of the conventions its attributes follow; '' when a foreign sender says nothing."""
