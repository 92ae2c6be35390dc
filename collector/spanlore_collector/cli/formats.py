"""What a session can be written as. Apart from the writing, since the command line needs the names at once."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """What `session --export` writes."""

    MD = "md"
    JSON = "json"
    OTLP = "otlp"
