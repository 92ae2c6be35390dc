"""Memories and session summaries as Markdown in Basic Memory's format, edited by hand where a person likes."""
