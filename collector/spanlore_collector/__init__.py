"""Sessions are kept: OTLP in, ClickHouse out."""
