"""OpenTelemetry GenAI message shapes, and one decoded model call."""
