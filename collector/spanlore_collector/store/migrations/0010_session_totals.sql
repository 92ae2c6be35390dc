-- What a session comes to, kept by the engine beside the rows of each part: `sessions` reads a row a session and part
-- instead of a row a span. Being part of the part, these sums are never ahead of the rows or behind them, whatever is
-- killed, repeated or deleted; merges that remove rows, and deletes, make them anew.
ALTER TABLE inferences ${on_cluster}
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'rebuild';
ALTER TABLE tool_calls ${on_cluster}
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'rebuild';
ALTER TABLE turns ${on_cluster}
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'rebuild';
ALTER TABLE human_messages ${on_cluster}
    MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild', lightweight_mutation_projection_mode = 'rebuild';

ALTER TABLE inferences ${on_cluster}
    ADD PROJECTION IF NOT EXISTS by_session
    (
        SELECT
            session_id, max(harness), max(repository), max(branch), min(start_time), max(end_time), count(),
            sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(cost_usd)
        GROUP BY session_id
    );
ALTER TABLE tool_calls ${on_cluster}
    ADD PROJECTION IF NOT EXISTS by_session
    (
        SELECT
            session_id, max(harness), max(repository), max(branch), min(start_time), max(end_time), count(),
            countIf(outcome = 'failure')
        GROUP BY session_id
    );
ALTER TABLE turns ${on_cluster}
    ADD PROJECTION IF NOT EXISTS by_session
    (
        SELECT
            session_id, call_class, max(harness), max(repository), max(branch), min(start_time), max(end_time), count(),
            argMinIf(substring(prompt, 1, 200), start_time, notEmpty(prompt))
        GROUP BY session_id, call_class
    );
ALTER TABLE human_messages ${on_cluster}
    ADD PROJECTION IF NOT EXISTS by_session
    (
        SELECT
            session_id, channel = 'user_message' AND call_class = 'main' AND turn_index = 0 AS is_first,
            max(harness), max(repository), max(branch), min(time), max(time),
            argMinIf(substring(text, 1, 200), time, notEmpty(text))
        GROUP BY session_id, is_first
    );

ALTER TABLE inferences ${on_cluster} MATERIALIZE PROJECTION by_session;
ALTER TABLE tool_calls ${on_cluster} MATERIALIZE PROJECTION by_session;
ALTER TABLE turns ${on_cluster} MATERIALIZE PROJECTION by_session;
ALTER TABLE human_messages ${on_cluster} MATERIALIZE PROJECTION by_session;

-- One row a session, as before. An expression that is written otherwise than above does not find what is kept. Filter it by session_id where you can: that reaches the tables.
CREATE OR REPLACE VIEW sessions ${on_cluster} AS
SELECT
    session_id,
    max(seen.harness) AS harness,
    max(seen.repository) AS repository,
    max(seen.branch) AS branch,
    min(seen.start_time) AS start_time,
    max(seen.end_time) AS end_time,
    sum(seen.inferences) AS inferences,
    sum(seen.tool_calls) AS tool_calls,
    sum(seen.failures) AS failures,
    sum(seen.turns) AS turns,
    sum(seen.input_tokens) AS input_tokens,
    sum(seen.output_tokens) AS output_tokens,
    sum(seen.cache_read_tokens) AS cache_read_tokens,
    sum(seen.cache_write_tokens) AS cache_write_tokens,
    sum(seen.cost_usd) AS cost_usd,
    argMinIf(seen.title, seen.start_time, seen.title != '') AS title
FROM
(
    SELECT
        session_id, max(harness) AS harness, max(repository) AS repository, max(branch) AS branch,
        min(start_time) AS start_time, max(end_time) AS end_time, count() AS inferences, 0 AS tool_calls,
        0 AS failures, 0 AS turns, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
        sum(cache_read_tokens) AS cache_read_tokens, sum(cache_write_tokens) AS cache_write_tokens,
        sum(cost_usd) AS cost_usd, '' AS title
    FROM inferences
    GROUP BY session_id
    UNION ALL
    SELECT
        session_id, max(harness), max(repository), max(branch), min(start_time), max(end_time), 0, count(),
        countIf(outcome = 'failure'), 0, NULL, NULL, NULL, NULL, NULL, ''
    FROM tool_calls
    GROUP BY session_id
    UNION ALL
    SELECT
        session_id, max(harness), max(repository), max(branch), min(start_time), max(end_time), 0, 0,
        0, count(), NULL, NULL, NULL, NULL, NULL, argMinIf(substring(prompt, 1, 200), start_time, notEmpty(prompt))
    FROM turns
    WHERE call_class = 'main'
    GROUP BY session_id
    UNION ALL
    SELECT
        session_id, first_harness, first_repository, first_branch, first_time, last_time, 0, 0,
        0, 0, NULL, NULL, NULL, NULL, NULL, first_text
    FROM
    (
        SELECT
            session_id, channel = 'user_message' AND call_class = 'main' AND turn_index = 0 AS is_first,
            max(harness) AS first_harness, max(repository) AS first_repository, max(branch) AS first_branch,
            min(time) AS first_time, max(time) AS last_time,
            argMinIf(substring(text, 1, 200), time, notEmpty(text)) AS first_text
        FROM human_messages
        GROUP BY session_id, is_first
    )
    WHERE is_first
) AS seen
GROUP BY session_id;
