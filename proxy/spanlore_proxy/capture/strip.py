"""A spooled record without its content: what the spool keeps when it is full, and what metadata mode keeps at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from spanlore.otlp.codec import decode_request, encode_request
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanRecord

CONTENT: Final = frozenset({*gen_ai.CONTENT_KEYS, lore.HUMAN_TEXT, lore.COMMAND, lore.ERROR_LINE})
"""Attributes whose values are words of the user, the model or a tool. Numbers, names and hashes stay."""


def strip_records(records: Sequence[SpanRecord]) -> list[SpanRecord]:
    """The records without content; ids, times, counts and outcomes stay, so every number stays true."""
    return [
        replace(
            record,
            attributes={key: value for key, value in record.attributes.items() if key not in CONTENT},
            status_message="",
        )
        for record in records
    ]


def strip_payload(payload: bytes) -> bytes:
    """The same for a serialized ExportTraceServiceRequest.

    Raises:
        MalformedOtlpError: the payload is not one.
    """
    return encode_request(strip_records(decode_request(payload)))
