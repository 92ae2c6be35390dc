"""The commands that come with the proxy."""
