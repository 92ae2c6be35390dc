-- Every request in which a memory could have been shown anew: shown, withheld by the fixed random split, or skipped with
-- the reason. Replays of what stands already are no opportunities; `inferences.injected_memory_ids` has them.
CREATE TABLE IF NOT EXISTS opportunities ${on_cluster}
(
    session_id   String CODEC(ZSTD(1)),
    conversation String CODEC(ZSTD(1)),
    trace_id     String CODEC(ZSTD(1)),
    span_id      String CODEC(ZSTD(1)),
    time         DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    ordinal      UInt16 COMMENT 'several opportunities of one request, in order',
    memory_id    String CODEC(ZSTD(1)),
    kind         LowCardinality(String) COMMENT 'session_block, task_hint, family_hint, failure_hint, client_block',
    state        LowCardinality(String) COMMENT 'shown, withheld, skipped',
    reason       LowCardinality(String) COMMENT 'of skipped: said, contradicted, budget, same_slot, repeated, cap, attested',
    anchor       String CODEC(ZSTD(1)),
    position     Int32 COMMENT 'index of the message; -1 the system prompt, -2 nowhere',
    bytes        UInt32 COMMENT 'of the memory''s line; 0 where it was not shown',
    tokens       UInt32 COMMENT 'estimated: bytes / 4',
    turn_index   UInt32 CODEC(ZSTD(1)),
    step_index   UInt32 CODEC(ZSTD(1)),
    harness      LowCardinality(String),
    repository   LowCardinality(String),
    sub_path     String CODEC(ZSTD(1)),
    branch       LowCardinality(String),
    model        LowCardinality(String),
    source       LowCardinality(String),
    call_class   LowCardinality(String),
    ingested_at  DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_time time TYPE minmax GRANULARITY 1,
    INDEX idx_memory memory_id TYPE bloom_filter(0.01) GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
PARTITION BY toYYYYMM(time)
ORDER BY (session_id, time, span_id, ordinal)
SETTINGS non_replicated_deduplication_window = 1000, fsync_after_insert = 1, fsync_part_directory = 1;
