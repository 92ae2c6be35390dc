"""Bytes of one exchange → what they say: one pure fold per dialect, no I/O."""
