-- What dashboards and mining ask for, as typed columns: one row a span, written beside otel_traces by the same batch.
-- Replacing is the second net: a span is looked up before it is inserted, so doubles come only from two collectors that
-- write the same span at the same moment, and merge away. Strings are '' where unknown, numbers NULL.

CREATE TABLE IF NOT EXISTS inferences ${on_cluster}
(
    session_id            String CODEC(ZSTD(1)),
    session_inferred      Bool,
    conversation          String CODEC(ZSTD(1)),
    parent_conversation   String CODEC(ZSTD(1)),
    trace_id              String CODEC(ZSTD(1)),
    span_id               String CODEC(ZSTD(1)),
    parent_span_id        String CODEC(ZSTD(1)),
    start_time            DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    end_time              DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    duration_ns           UInt64 CODEC(ZSTD(1)),
    ttft_ns               Nullable(UInt64) CODEC(ZSTD(1)),
    harness               LowCardinality(String),
    harness_version       LowCardinality(String),
    run_id                String CODEC(ZSTD(1)),
    repository            LowCardinality(String),
    sub_path              String CODEC(ZSTD(1)),
    branch                LowCardinality(String),
    cwd                   String CODEC(ZSTD(1)),
    source                LowCardinality(String),
    dialect               LowCardinality(String),
    provider              LowCardinality(String),
    operation             LowCardinality(String),
    request_model         LowCardinality(String),
    response_model        LowCardinality(String),
    response_id           String CODEC(ZSTD(1)),
    provider_request_id   String CODEC(ZSTD(1)),
    client_request_id     String CODEC(ZSTD(1)),
    call_class            LowCardinality(String),
    turn_index            UInt32 CODEC(ZSTD(1)),
    step_index            UInt32 CODEC(ZSTD(1)),
    attempt               UInt8,
    status_code           Nullable(UInt16),
    error_type            LowCardinality(String),
    is_complete           Bool,
    finish_reason         LowCardinality(String),
    message_count         UInt32 CODEC(ZSTD(1)),
    new_from              UInt32 CODEC(ZSTD(1)),
    input_tokens          Nullable(UInt64) CODEC(ZSTD(1)) COMMENT 'cache reads and writes included',
    output_tokens         Nullable(UInt64) CODEC(ZSTD(1)),
    cache_read_tokens     Nullable(UInt64) CODEC(ZSTD(1)),
    cache_write_tokens    Nullable(UInt64) CODEC(ZSTD(1)),
    cache_write_1h_tokens Nullable(UInt64) CODEC(ZSTD(1)),
    reasoning_tokens      Nullable(UInt64) CODEC(ZSTD(1)),
    cost_usd              Nullable(Decimal(18, 9)) COMMENT 'NULL: the price of the model is not known',
    cost_input_usd        Nullable(Decimal(18, 9)),
    cost_output_usd       Nullable(Decimal(18, 9)),
    price_version         LowCardinality(String),
    request_bytes         UInt64 CODEC(ZSTD(1)),
    response_bytes        UInt64 CODEC(ZSTD(1)),
    redactions            UInt32,
    overhead_ns           UInt64 CODEC(ZSTD(1)),
    injected_memory_ids   Array(String) CODEC(ZSTD(1)),
    injected_bytes        UInt32,
    injected_placements   String CODEC(ZSTD(1)) COMMENT 'JSON',
    injection_skipped     LowCardinality(String),
    compacted             Bool,
    ingested_at           DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_start start_time TYPE minmax GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(start_time)
ORDER BY (session_id, start_time, span_id)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS tool_calls ${on_cluster}
(
    session_id     String CODEC(ZSTD(1)),
    conversation   String CODEC(ZSTD(1)),
    trace_id       String CODEC(ZSTD(1)),
    span_id        String CODEC(ZSTD(1)),
    parent_span_id String CODEC(ZSTD(1)),
    tool_call_id   String CODEC(ZSTD(1)),
    tool_name      LowCardinality(String),
    start_time     DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    end_time       DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    duration_ns    UInt64 CODEC(ZSTD(1)),
    outcome        LowCardinality(String),
    outcome_reason LowCardinality(String),
    exit_code      Nullable(Int32),
    program        LowCardinality(String),
    command        String CODEC(ZSTD(1)),
    signature      String CODEC(ZSTD(1)),
    error_class    LowCardinality(String),
    error_line     String CODEC(ZSTD(1)),
    arguments_hash String CODEC(ZSTD(1)),
    result_hash    String CODEC(ZSTD(1)),
    result_bytes   UInt64 CODEC(ZSTD(1)),
    harness        LowCardinality(String),
    repository     LowCardinality(String),
    sub_path       String CODEC(ZSTD(1)),
    branch         LowCardinality(String),
    run_id         String CODEC(ZSTD(1)),
    source         LowCardinality(String),
    call_class     LowCardinality(String),
    turn_index     UInt32 CODEC(ZSTD(1)),
    step_index     UInt32 CODEC(ZSTD(1)),
    ingested_at    DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_start start_time TYPE minmax GRANULARITY 1,
    INDEX idx_signature signature TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(start_time)
ORDER BY (session_id, start_time, span_id)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS turns ${on_cluster}
(
    session_id          String CODEC(ZSTD(1)),
    conversation        String CODEC(ZSTD(1)),
    parent_conversation String CODEC(ZSTD(1)),
    trace_id            String CODEC(ZSTD(1)),
    span_id             String CODEC(ZSTD(1)),
    parent_span_id      String CODEC(ZSTD(1)),
    start_time          DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    end_time            DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    duration_ns         UInt64 CODEC(ZSTD(1)),
    turn_index          UInt32 CODEC(ZSTD(1)),
    prompt              String CODEC(ZSTD(1)) COMMENT 'at most 2,000 characters',
    inferences          UInt32,
    tool_calls          UInt32,
    failures            UInt32,
    end                 LowCardinality(String),
    harness             LowCardinality(String),
    repository          LowCardinality(String),
    sub_path            String CODEC(ZSTD(1)),
    branch              LowCardinality(String),
    run_id              String CODEC(ZSTD(1)),
    source              LowCardinality(String),
    call_class          LowCardinality(String),
    ingested_at         DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_start start_time TYPE minmax GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(start_time)
ORDER BY (session_id, start_time, span_id)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS human_messages ${on_cluster}
(
    session_id   String CODEC(ZSTD(1)),
    conversation String CODEC(ZSTD(1)),
    trace_id     String CODEC(ZSTD(1)),
    span_id      String CODEC(ZSTD(1)),
    time         DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    channel      LowCardinality(String),
    text         String CODEC(ZSTD(3)),
    ordinal      UInt16 COMMENT 'several messages of one request, in order',
    turn_index   UInt32 CODEC(ZSTD(1)),
    step_index   UInt32 CODEC(ZSTD(1)),
    harness      LowCardinality(String),
    repository   LowCardinality(String),
    sub_path     String CODEC(ZSTD(1)),
    branch       LowCardinality(String),
    source       LowCardinality(String),
    call_class   LowCardinality(String),
    ingested_at  DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_time time TYPE minmax GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(time)
ORDER BY (session_id, time, span_id, ordinal)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

-- Where a piece of content stood; the text itself is in `content` once, however often it was sent.
CREATE TABLE IF NOT EXISTS message_parts ${on_cluster}
(
    session_id    String CODEC(ZSTD(1)),
    conversation  String CODEC(ZSTD(1)),
    trace_id      String CODEC(ZSTD(1)),
    span_id       String CODEC(ZSTD(1)),
    time          DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    direction     LowCardinality(String) COMMENT 'system, input, output, tools, arguments, result',
    message_index UInt32 CODEC(ZSTD(1)),
    part_index    UInt16 CODEC(ZSTD(1)),
    role          LowCardinality(String),
    type          LowCardinality(String),
    tool_call_id  String CODEC(ZSTD(1)),
    name          LowCardinality(String),
    content_hash  String CODEC(ZSTD(1)),
    content_bytes UInt32 CODEC(ZSTD(1)),
    finish_reason LowCardinality(String),
    ingested_at   DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree
PARTITION BY toYYYYMM(time)
ORDER BY (session_id, time, span_id, direction, message_index, part_index)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;

-- Content by hash (BLAKE2b-128 of its UTF-8 bytes). A hash may stand here twice until parts merge: read it with
-- `LIMIT 1 BY hash` or any(body), never count on one row.
CREATE TABLE IF NOT EXISTS content ${on_cluster}
(
    hash       String CODEC(ZSTD(1)),
    body       String CODEC(ZSTD(3)),
    bytes      UInt32 CODEC(ZSTD(1)),
    first_seen DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_hash hash TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree
ORDER BY hash
SETTINGS
    index_granularity = 1024, non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;
