"""The extractor's commands."""
