-- Content in the order in which it came, instead of that of its hashes: what is said in one session is alike, and is
-- compressed and read together. A hash may stand here more than once (two collectors, or a process that forgot it): read
-- `content`, with `LIMIT 1 BY hash` or any(body), and never count on one row.
-- The index of word pieces says which thousand texts can hold a word, for a fifth of what an index of each word costs.
CREATE TABLE IF NOT EXISTS texts ${on_cluster}
(
    hash       String CODEC(ZSTD(1)) COMMENT 'BLAKE2b-128 of the body in UTF-8',
    body       String CODEC(ZSTD(6)),
    bytes      UInt32 CODEC(ZSTD(1)),
    first_seen DateTime64(3) CODEC(Delta(8), ZSTD(1)),
    INDEX idx_hash hash TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_words lower(body) TYPE ngrambf_v1(4, 16384, 2, 0) GRANULARITY 1
)
ENGINE = ${replicated}ReplacingMergeTree
ORDER BY (first_seen, hash)
SETTINGS
    index_granularity = 1024, min_compress_block_size = 2097152, max_compress_block_size = 2097152,
    min_bytes_for_wide_part = 1048576, non_replicated_deduplication_window = 1000, fsync_after_insert = 1,
    fsync_part_directory = 1;

-- What an older table `content` holds was set aside before this file, and is moved by `store/backfill.py`.
CREATE OR REPLACE VIEW content ${on_cluster} AS SELECT hash, body, bytes, first_seen FROM texts;

DROP TABLE IF EXISTS content_local ${on_cluster};
