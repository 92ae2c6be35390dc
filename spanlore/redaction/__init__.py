"""Secrets out of text, before anything leaves the process."""
