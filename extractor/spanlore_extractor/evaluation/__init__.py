"""How well the detectors do on labelled sessions."""
