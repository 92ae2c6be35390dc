"""Sessions come in: bytes become spans, and memories go back into requests."""
