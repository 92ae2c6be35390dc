-- The newest version of each memory, ordered by its immutable id; `json` is the whole of it. Read with FINAL: the table
-- has one row a memory. `memory_events` is the truth from which it can be rebuilt, and only ever grows.
CREATE TABLE IF NOT EXISTS memories ${on_cluster}
(
    id            String,
    version       UInt32,
    status        LowCardinality(String),
    kind          LowCardinality(String),
    source        LowCardinality(String),
    scope         LowCardinality(String),
    harness       LowCardinality(String),
    subject       String,
    slot          String,
    value         String,
    text          String,
    confidence    Float64,
    session_count UInt32,
    pinned        Bool,
    created_at    DateTime64(9),
    updated_at    DateTime64(9),
    recorded_at   DateTime64(3),
    json          String CODEC(ZSTD(3))
)
ENGINE = ${replicated}ReplacingMergeTree(version)
ORDER BY id
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;

CREATE TABLE IF NOT EXISTS memory_events ${on_cluster}
(
    id      String,
    version UInt32,
    verb    LowCardinality(String),
    actor   LowCardinality(String),
    reason  String,
    at      DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    json    String CODEC(ZSTD(3))
)
ENGINE = ${replicated}MergeTree
ORDER BY (id, version, at)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;

-- How far mining has come, by key.
CREATE TABLE IF NOT EXISTS mining_state ${on_cluster}
(
    key        String,
    value      String,
    updated_at DateTime64(9)
)
ENGINE = ${replicated}ReplacingMergeTree(updated_at)
ORDER BY key
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
