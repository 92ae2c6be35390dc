"""SpanRecord."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from spanlore.semconv.gen_ai import SCHEMA_URL
from spanlore.spans.record import SpanKind, SpanRecord, StatusCode


def test_a_record_is_complete_when_made() -> None:
    """Its defaults are those of a span without anything special, and nothing changes it."""
    record = SpanRecord(b"t" * 16, b"s" * 8, None, "a", SpanKind.INTERNAL, 1, 2)

    assert (record.status_code, record.events, record.links, record.schema_url) == (
        StatusCode.UNSET,
        (),
        (),
        SCHEMA_URL,
    )
    with pytest.raises(FrozenInstanceError):
        record.name = "b"  # type: ignore[misc]


def test_kinds_are_spelled_as_the_exporter_does() -> None:
    """Grafana and others compare with these words; codes are OTLP's numbers."""
    assert [kind.value for kind in SpanKind] == ["Internal", "Client", "Server", "Producer", "Consumer", "Unspecified"]
    assert [code.value for code in StatusCode] == [0, 1, 2]
