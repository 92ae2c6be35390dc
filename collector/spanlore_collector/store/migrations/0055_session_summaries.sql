-- What a session was about (goal, decisions, files, errors resolved and open), written when it is mined. It has no TTL:
-- it stays when the session's content and rows are past their days. Of two rows of a session the one that was made of
-- more steps wins, so that mining a session again once its content is gone takes nothing away.
CREATE TABLE IF NOT EXISTS session_summaries ${on_cluster}
(
    session_id  String CODEC(ZSTD(1)),
    harness     LowCardinality(String),
    repository  LowCardinality(String),
    branch      LowCardinality(String),
    start_time  DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    end_time    DateTime64(9) CODEC(Delta(8), ZSTD(1)),
    steps       UInt32 CODEC(ZSTD(1)) COMMENT 'steps it was made of, and contents of them that were there',
    goal        String CODEC(ZSTD(3)) COMMENT 'what a person asked first',
    text        String CODEC(ZSTD(3)) COMMENT 'all of it, as people read and search it',
    json        String CODEC(ZSTD(3)) COMMENT 'all of it, for programs',
    version     UInt64 CODEC(ZSTD(1)) COMMENT 'steps * 2**42 + milliseconds since the epoch',
    ingested_at DateTime64(3) CODEC(Delta(8), ZSTD(1))
)
ENGINE = ${replicated}ReplacingMergeTree(version)
ORDER BY session_id
SETTINGS
    index_granularity = 1024, non_replicated_deduplication_window = 100, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- A past month of a repository's sessions in a model's words, where a judge is configured and its text held. `source`
-- names the lines it was made of: once they change, the text is of no use any more.
CREATE TABLE IF NOT EXISTS summary_chapters ${on_cluster}
(
    repository  String CODEC(ZSTD(1)),
    period      String CODEC(ZSTD(1)) COMMENT 'as 2026-11',
    source      String CODEC(ZSTD(1)) COMMENT 'BLAKE2b-128 of the lines it was made of',
    text        String CODEC(ZSTD(3)),
    model       LowCardinality(String),
    ingested_at DateTime64(3) CODEC(Delta(8), ZSTD(1))
)
ENGINE = ${replicated}ReplacingMergeTree(ingested_at)
ORDER BY (repository, period)
SETTINGS
    index_granularity = 1024, non_replicated_deduplication_window = 100, fsync_after_insert = 1,
    fsync_part_directory = 1;
