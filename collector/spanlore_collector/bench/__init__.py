"""Measurements of the collector against its engine."""
