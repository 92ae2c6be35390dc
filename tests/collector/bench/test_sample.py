"""The spans that are measured with."""

from __future__ import annotations

from spanlore.otlp.codec import encode_request
from spanlore_collector.bench.sample import sample_spans


def test_samples_are_repeatable_distinct_and_of_two_kilobytes() -> None:
    """The same for the same seed, others for another, every span once."""
    spans = sample_spans(300)
    keys = {(span.trace_id, span.span_id) for span in spans}

    assert spans == sample_spans(300)
    assert len(keys) == 300
    assert not keys & {(span.trace_id, span.span_id) for span in sample_spans(300, seed=2)}
    assert 2_000 < len(encode_request(spans)) / 300 < 4_000
