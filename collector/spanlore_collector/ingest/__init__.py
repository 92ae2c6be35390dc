"""OTLP/HTTP: what senders post becomes rows, and is answered when it is stored."""
