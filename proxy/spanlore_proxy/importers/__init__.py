"""Recorded sessions and recorded traffic read as if they had just come over the wire."""
