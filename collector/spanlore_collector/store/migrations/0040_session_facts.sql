-- What each span adds to its session, as narrow rows of one table, so that a session is read from one place instead of
-- four. One row a span, written by the batch that writes the span's other typed rows, with the same key and the same two
-- nets against doubles. The sums are kept by the engine beside the rows of each part (0010 tells why).
CREATE TABLE IF NOT EXISTS session_facts ${on_cluster}
(
    session_id         String CODEC(ZSTD(1)),
    trace_id           String CODEC(ZSTD(1)),
    span_id            String CODEC(ZSTD(1)),
    start_time         DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    end_time           DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    harness            LowCardinality(String),
    repository         LowCardinality(String),
    branch             LowCardinality(String),
    source             LowCardinality(String),
    inferences         UInt8,
    tool_calls         UInt8,
    failures           UInt8,
    turns              UInt8 COMMENT 'of the main conversation',
    input_tokens       Nullable(UInt64) CODEC(ZSTD(1)) COMMENT 'cache reads and writes included',
    output_tokens      Nullable(UInt64) CODEC(ZSTD(1)),
    cache_read_tokens  Nullable(UInt64) CODEC(ZSTD(1)),
    cache_write_tokens Nullable(UInt64) CODEC(ZSTD(1)),
    cost_usd           Nullable(Decimal(18, 9)) CODEC(ZSTD(1)) COMMENT 'NULL: the price of the model is not known',
    title              String CODEC(ZSTD(3)) COMMENT 'what a person asked first, at most 200 bytes',
    ingested_at        DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_trace_id trace_id TYPE bloom_filter(0.001) GRANULARITY 1,
    PROJECTION by_session
    (
        SELECT
            session_id, max(harness), max(repository), max(branch), min(start_time), max(end_time), sum(inferences),
            sum(tool_calls), sum(failures), sum(turns), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens),
            sum(cache_write_tokens), sum(cost_usd), argMinIf(title, start_time, notEmpty(title))
        GROUP BY session_id
    )
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
ORDER BY (session_id, start_time, span_id)
SETTINGS
    index_granularity = 2048, deduplicate_merge_projection_mode = 'rebuild',
    lightweight_mutation_projection_mode = 'rebuild', non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- What was stored before is added by `store/backfill.py`.

-- One row a session. An expression that is written otherwise than above does not find what is kept.
CREATE OR REPLACE VIEW sessions ${on_cluster} AS
SELECT
    session_id,
    max(f.harness) AS harness,
    max(f.repository) AS repository,
    max(f.branch) AS branch,
    min(f.start_time) AS start_time,
    max(f.end_time) AS end_time,
    sum(f.inferences) AS inferences,
    sum(f.tool_calls) AS tool_calls,
    sum(f.failures) AS failures,
    sum(f.turns) AS turns,
    sum(f.input_tokens) AS input_tokens,
    sum(f.output_tokens) AS output_tokens,
    sum(f.cache_read_tokens) AS cache_read_tokens,
    sum(f.cache_write_tokens) AS cache_write_tokens,
    sum(f.cost_usd) AS cost_usd,
    argMinIf(f.title, f.start_time, notEmpty(f.title)) AS title
FROM session_facts AS f
GROUP BY session_id;

-- Not waited for: it goes through every part of a store that may be large, and nobody reads them any more.
ALTER TABLE inferences ${on_cluster} DROP PROJECTION IF EXISTS by_session SETTINGS alter_sync = 0;
ALTER TABLE tool_calls ${on_cluster} DROP PROJECTION IF EXISTS by_session SETTINGS alter_sync = 0;
ALTER TABLE turns ${on_cluster} DROP PROJECTION IF EXISTS by_session SETTINGS alter_sync = 0;
ALTER TABLE human_messages ${on_cluster} DROP PROJECTION IF EXISTS by_session SETTINGS alter_sync = 0;
