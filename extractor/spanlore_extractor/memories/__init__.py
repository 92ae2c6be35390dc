"""Candidates to memories: the gate, the wording, and the operations; pure."""
