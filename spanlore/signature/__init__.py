"""The normalised identity of a failure: its program, its error class, its first significant line."""
