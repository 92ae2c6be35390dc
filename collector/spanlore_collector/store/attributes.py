"""Span attributes as column values. Pure.

Nothing here refuses a value: what a column can't hold is brought to its bounds, what is no number is no number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from spanlore.semconv import gen_ai, lore
from spanlore.spans.record import AttributeValue

type Attributes = Mapping[str, AttributeValue]

MOVED = frozenset((*gen_ai.CONTENT_KEYS, lore.HUMAN_TEXT))
"""Attributes that are kept in tables of their own, not in SpanAttributes."""
MAX_INT64 = 2**63 - 1
_OLDER = {new: tuple(old for old, to in gen_ai.OLD_NAMES.items() if to == new) for new in gen_ai.OLD_NAMES.values()}


def string(value: AttributeValue) -> str:
    """One value as the exporter writes it: `true`, `1`, `0.5`, `["a"]`."""
    return _WRITERS[type(value)](value)


def _double(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else str(value)


_WRITERS: dict[type, Callable[[Any], str]] = {
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _double,
    tuple: lambda value: orjson.dumps(value).decode(),
}


def strings(attributes: Attributes) -> dict[str, str]:
    """As the exporter writes attribute maps: everything is text, lists are JSON. Content is left out."""
    return {
        key: value if type(value) is str else _WRITERS[type(value)](value)
        for key, value in attributes.items()
        if key not in MOVED
    }


def all_strings(attributes: Attributes) -> dict[str, str]:
    """The same with content, which log records keep."""
    return {key: value if type(value) is str else _WRITERS[type(value)](value) for key, value in attributes.items()}


def number(value: AttributeValue | None) -> int | None:
    """A number as an int; text of digits counts, for senders that know only strings."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or value is None or isinstance(value, tuple):
        return None
    try:
        parsed = float(value)
    except ValueError:
        return None
    return int(parsed) if math.isfinite(parsed) else None


def count(attributes: Attributes, key: str, most: int = 2**32 - 1) -> int:
    """A number from 0 to `most`, 0 when absent."""
    value = attributes.get(key)
    if value is None:
        return 0
    found = value if type(value) is int else number(value)
    return 0 if found is None or found < 0 else min(found, most)


def maybe(attributes: Attributes, key: str, most: int = MAX_INT64) -> int | None:
    """A number from 0 to `most`, None when absent or negative."""
    value = attributes.get(key)
    if value is None:
        return None
    found = value if type(value) is int else number(value)
    return None if found is None or found < 0 else min(found, most)


def signed(attributes: Attributes, key: str) -> int | None:
    """A number that fits Int32, None when absent."""
    found = number(attributes.get(key))
    return None if found is None else min(max(found, -(2**31)), 2**31 - 1)


def tokens(attributes: Attributes, key: str) -> int | None:
    """A token count under its name of today or an older one."""
    found = maybe(attributes, key)
    if found is None:
        for older in _OLDER[key]:
            if older in attributes:
                return maybe(attributes, older)
    return found


def usd(attributes: Attributes, key: str) -> float | None:
    """US dollars, None when absent."""
    value = attributes.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    # The column holds nine digits before the point; what is beyond it, or not a number, is no price.
    return float(value) if math.isfinite(value) and abs(value) < 1e9 else None


def finish_reason(value: AttributeValue | None) -> str:
    """The first of the finish reasons; some senders write the list as JSON."""
    if isinstance(value, tuple):
        return value[0] if value else ""
    if isinstance(value, str) and value.startswith("["):
        try:
            reasons = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        return str(reasons[0]) if isinstance(reasons, list) and reasons else ""
    return "" if value is None else string(value)


def words(value: AttributeValue | None) -> tuple[str, ...]:
    """A list of words; a lone word is a list of one."""
    if isinstance(value, tuple):
        return value
    return (value,) if isinstance(value, str) and value else ()
