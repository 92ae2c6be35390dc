"""Recalled memories go into a request, as the one insertion, and are replayed byte for byte."""
