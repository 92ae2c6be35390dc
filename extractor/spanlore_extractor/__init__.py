"""Sessions teach: spans become candidates, candidates become memories."""
