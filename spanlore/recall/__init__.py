"""Choosing memories: ranking and the token budget. No model, no network."""
