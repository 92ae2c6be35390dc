"""The web page and its HTTP API: a small process of its own that reads the store and changes memories by the API."""
