"""The words every component shares: spans, messages, memories, settings. Imports nothing of the components."""

__version__ = "0.1.0"
