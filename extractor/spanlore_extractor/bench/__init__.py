"""Measurements of mining."""
