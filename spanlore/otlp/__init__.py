"""SpanRecords to OTLP and back."""
