"""Where each dialect has room for what is inserted: one module a dialect, one table for all."""
