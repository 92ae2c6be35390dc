-- What of older tables was moved into newer ones (`store/backfill.py`): a row a piece, and one without a piece when all
-- of a table is.
CREATE TABLE IF NOT EXISTS backfills ${on_cluster}
(
    name    String COMMENT 'of the table that is filled',
    piece   String,
    rows    UInt64,
    done_at DateTime64(3) DEFAULT now64(3)
)
ENGINE = ${replicated}MergeTree
ORDER BY (name, piece)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
