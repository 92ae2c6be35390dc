-- Spans as OpenTelemetry's ClickHouse exporter keeps them, column for column (collector-contrib, clickhouseexporter,
-- traces_table.sql), so that Grafana's OTel mode, HyperDX and other readers of that schema work unchanged.
-- Content attributes are not in SpanAttributes: see `message_parts` and `content`.
-- What is acknowledged is fsynced, here and in all tables that can't be made again from others.
CREATE TABLE IF NOT EXISTS otel_traces ${on_cluster}
(
    Timestamp          DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    TraceId            String CODEC(ZSTD(1)),
    SpanId             String CODEC(ZSTD(1)),
    ParentSpanId       String CODEC(ZSTD(1)),
    TraceState         String CODEC(ZSTD(1)),
    SpanName           LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind           LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName        LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName          String CODEC(ZSTD(1)),
    ScopeVersion       String CODEC(ZSTD(1)),
    SpanAttributes     Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    Duration           UInt64 CODEC(ZSTD(1)) COMMENT 'nanoseconds',
    StatusCode         LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage      String CODEC(ZSTD(1)),
    Events Nested (
        Timestamp      DateTime64(9),
        Name           LowCardinality(String),
        Attributes     Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested (
        TraceId        String,
        SpanId         String,
        TraceState     String,
        Attributes     Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_duration Duration TYPE minmax GRANULARITY 1
)
ENGINE = ${replicated}MergeTree
PARTITION BY toDate(Timestamp)
PRIMARY KEY (ServiceName, SpanName, toDateTime(Timestamp))
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp), Timestamp)
SETTINGS
    index_granularity = 8192, ttl_only_drop_parts = 1, non_replicated_deduplication_window = 1000,
    fsync_after_insert = 1, fsync_part_directory = 1;

-- Which time a trace covers, so that one trace is read from its days only. Several rows a trace: take min and max.
CREATE TABLE IF NOT EXISTS otel_traces_trace_id_ts ${on_cluster}
(
    TraceId String CODEC(ZSTD(1)),
    Start   SimpleAggregateFunction(min, DateTime) CODEC(Delta, ZSTD(1)),
    End     SimpleAggregateFunction(max, DateTime) CODEC(Delta, ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ${replicated}AggregatingMergeTree
PARTITION BY toStartOfWeek(Start)
ORDER BY TraceId
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1;

CREATE MATERIALIZED VIEW IF NOT EXISTS otel_traces_trace_id_ts_mv ${on_cluster} TO otel_traces_trace_id_ts AS
SELECT TraceId, min(toDateTime(Timestamp)) AS Start, max(toDateTime(Timestamp)) AS End
FROM otel_traces
WHERE TraceId != ''
GROUP BY TraceId;
