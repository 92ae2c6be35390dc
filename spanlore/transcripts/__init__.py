"""Agents' own session files, read into one sequence of events. Pure, tolerant: what can't be read is counted."""
