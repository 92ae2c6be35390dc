import pytest

from spanlore.otlp.codec import MalformedOtlpError, decode_request, encode_request
from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import SpanKind, SpanRecord, StatusCode
from spanlore_proxy.capture.strip import CONTENT, strip_payload

SPAN = SpanRecord(
    trace_id=b"t" * 16,
    span_id=b"s" * 8,
    parent_span_id=None,
    name="chat m",
    kind=SpanKind.CLIENT,
    start_time_ns=1,
    end_time_ns=2,
    attributes={
        **dict.fromkeys(sorted(CONTENT), "the user's words"),
        gen_ai.USAGE_INPUT_TOKENS: 7,
        lore.OUTCOME: "failure",
        lore.PROGRAM: "pytest",
    },
    resource={"service.name": "claude-code"},
    status_code=StatusCode.ERROR,
    status_message="the user's words",
)


def test_numbers_and_names_stay_words_go() -> None:
    """A stripped record has the same ids, times, tokens and outcome, and not one word of content."""
    payload = encode_request([SPAN])
    (stripped,) = decode_request(strip_payload(payload + payload))[:1]

    assert b"words" not in strip_payload(payload)
    assert (stripped.trace_id, stripped.span_id, stripped.end_time_ns) == (SPAN.trace_id, SPAN.span_id, 2)
    assert stripped.attributes == {gen_ai.USAGE_INPUT_TOKENS: 7, lore.OUTCOME: "failure", lore.PROGRAM: "pytest"}
    assert len(decode_request(strip_payload(payload + payload))) == 2


def test_stripping_twice_changes_nothing() -> None:
    """A segment can be stripped again after a crash."""
    once = strip_payload(encode_request([SPAN]))

    assert strip_payload(once) == once


def test_what_is_no_request_is_an_error() -> None:
    """Bytes that are not OTLP are not passed on as if they were stripped."""
    with pytest.raises(MalformedOtlpError):
        strip_payload(b"\xff\xff\xff")
