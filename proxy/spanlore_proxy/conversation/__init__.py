"""Which inference continues which, what is new in it, and what became of the tools it asked for. Pure: no I/O."""
