"""Texts to vectors, by a library of the extra `embeddings`; nothing else of spanlore needs one."""
