"""A read-only ClickHouse HTTP interface over the embedded store."""
