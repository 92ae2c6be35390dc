"""The store: migrations, rows, the one writer, read-only sessions, and the clients that other processes use."""
