-- One row a session. Filter it by session_id or start_time: both reach the tables below the aggregation only for
-- session_id, so give a time range to the tables themselves where it matters.
CREATE VIEW IF NOT EXISTS sessions ${on_cluster} AS
SELECT
    session_id,
    anyIf(seen.harness, seen.harness != '') AS harness,
    anyIf(seen.repository, seen.repository != '') AS repository,
    anyIf(seen.branch, seen.branch != '') AS branch,
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
        session_id, harness, repository, branch, start_time, end_time, 1 AS inferences, 0 AS tool_calls, 0 AS failures,
        0 AS turns, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_usd, '' AS title
    FROM inferences
    UNION ALL
    SELECT
        session_id, harness, repository, branch, start_time, end_time, 0, 1, outcome = 'failure',
        0, NULL, NULL, NULL, NULL, NULL, ''
    FROM tool_calls
    UNION ALL
    SELECT
        session_id, harness, repository, branch, start_time, end_time, 0, 0, 0,
        1, NULL, NULL, NULL, NULL, NULL, substring(prompt, 1, 200)
    FROM turns
    WHERE call_class = 'main'
    UNION ALL
    SELECT
        session_id, harness, repository, branch, time, time, 0, 0, 0,
        0, NULL, NULL, NULL, NULL, NULL, substring(text, 1, 200)
    FROM human_messages
    WHERE channel = 'user_message' AND call_class = 'main' AND turn_index = 0
) AS seen
GROUP BY session_id;
