-- Agents' own telemetry is joined to what was seen on the wire by the provider's request id.
ALTER TABLE inferences ${on_cluster}
    ADD INDEX IF NOT EXISTS idx_request provider_request_id TYPE bloom_filter(0.001) GRANULARITY 1;

-- Words of the transcripts: `hasAllTokens(lower(body), ['word'])` reads only granules that hold the word.
ALTER TABLE content ${on_cluster}
    ADD INDEX IF NOT EXISTS idx_words lower(body) TYPE ${search_index};
