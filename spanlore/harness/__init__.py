"""What agents write around a tool's output and a person's words, and so: how a call ended, and what a person typed.

Told from texts alone, so the wire and the transcripts are judged alike.
"""
