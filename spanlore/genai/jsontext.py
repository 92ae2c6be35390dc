"""JSON as it comes over the wire: fast where it is well formed, patient where it is nearly so.

`JSON.stringify` writes half of a surrogate pair as an escape (`"\\ud83d"`, a tool's output cut inside an emoji), which
orjson takes neither in nor out. Such text is read by the standard library and the half characters become U+FFFD, so
that everything behind this module can be written as UTF-8.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson
import pydantic_core

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(data: bytes | str) -> Any:
    """The parsed value, free of lone surrogates.

    Raises:
        ValueError: It is not JSON, or nested beyond what can be parsed.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as fault:
        if "surrogate" not in str(fault) and "utf-8" not in str(fault).lower():
            raise
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        whole = json.dumps(json.loads(text), ensure_ascii=False)
    except RecursionError as fault:
        raise ValueError("JSON nested too deep") from fault
    return orjson.loads(_LONE_SURROGATE.sub("\ufffd", whole))


def parsed(value: Any) -> Any:
    """What a JSON text says; what is no text, or no JSON, stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value)
    except ValueError:
        return value


def loads_partial(data: bytes | str) -> Any:
    """What stands in the beginning of a JSON text whose end is missing; None when nothing can be told.

    Unfinished strings are kept as far as they go; an unfinished number is not, since half of one is another. Integers
    beyond 64 bits, which nothing behind this could write again, become floats, as `loads` has it.
    """
    if isinstance(data, bytes):
        # The cut may have hit a character, which must not cost the rest.
        data = data.decode("utf-8", "ignore")
    try:
        return _in_64_bits(pydantic_core.from_json(data.rstrip("0123456789.eE+-"), allow_partial="trailing-strings"))
    except ValueError:
        return None


def _in_64_bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_64_bits(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_in_64_bits(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value) if abs(value) < 10**308 else None
    return value
