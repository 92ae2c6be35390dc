"""What sessions were about, kept for good and put together: one summary a session, one digest a repository."""
