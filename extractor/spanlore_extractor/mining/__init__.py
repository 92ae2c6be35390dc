"""Sessions to candidates: pure."""
