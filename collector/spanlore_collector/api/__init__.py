"""The collector's own HTTP API: memories, mining's state, status."""
