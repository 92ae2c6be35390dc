"""Commands that show what was captured."""
