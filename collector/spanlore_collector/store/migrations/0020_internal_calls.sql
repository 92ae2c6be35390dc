-- What spanlore's own model calls cost, one row a call or refusal to call. Never part of an agent's own figures.
CREATE TABLE IF NOT EXISTS internal_calls ${on_cluster}
(
    time               DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    phase              LowCardinality(String) COMMENT 'judge',
    session_id         String CODEC(ZSTD(1)) COMMENT 'of the session that was mined',
    memory_id          String CODEC(ZSTD(1)),
    model              LowCardinality(String),
    outcome            String CODEC(ZSTD(1)) COMMENT 'keep, refuse, unsure, or what was wrong',
    input_tokens       UInt32 COMMENT 'cache reads and writes included',
    output_tokens      UInt32,
    cache_read_tokens  UInt32,
    cache_write_tokens UInt32,
    cost_usd           Nullable(Float64) COMMENT 'NULL: not asked, or a model of unknown price'
)
ENGINE = ${replicated}MergeTree
ORDER BY (time, memory_id)
SETTINGS non_replicated_deduplication_window = 100, fsync_after_insert = 1, fsync_part_directory = 1;

-- A day's tokens by whom they were spent on: exposed (put into agents' requests), internal (our own calls), and what of
-- the internal ones the cache took. They are of different kinds and are never summed.
CREATE VIEW IF NOT EXISTS token_ledger ${on_cluster} AS
SELECT day, sum(exposed) AS exposed_tokens, sum(internal) AS internal_tokens, sum(cached) AS internal_cache_read_tokens,
       sum(usd) AS internal_usd, sum(calls) AS internal_calls
FROM
(
    SELECT toDate(start_time) AS day, intDiv(injected_bytes + 3, 4) AS exposed, 0 AS internal, 0 AS cached,
           toFloat64(0) AS usd, 0 AS calls
    FROM inferences WHERE injected_bytes > 0
    UNION ALL
    SELECT toDate(time) AS day, 0, input_tokens + output_tokens, cache_read_tokens, ifNull(cost_usd, 0),
           toUInt8(input_tokens > 0)
    FROM internal_calls
)
GROUP BY day;
