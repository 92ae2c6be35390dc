"""Sessions are seen."""
