-- A merge writes each column through buffers of a megabyte: of a table with sixty columns that is more than the embedded
-- engine may have. Buffers that grow with what is in them take a fifth (229 to 44 MiB for half a million inferences).
ALTER TABLE otel_traces ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_traces_trace_id_ts ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE inferences ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE tool_calls ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE turns ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE human_messages ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE message_parts ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE opportunities ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE session_facts ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE texts ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_logs ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_metrics_gauge ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_metrics_sum ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_metrics_histogram ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_metrics_exponential_histogram ${on_cluster} MODIFY SETTING ${small_buffers};
ALTER TABLE otel_metrics_summary ${on_cluster} MODIFY SETTING ${small_buffers};
