"""The beginning of a JSON document whose end is missing, without what the cut may have left half."""

from __future__ import annotations

from typing import Any, Final

from spanlore.genai import jsontext

_GONE: Final = object()
_KEPT_HALF: Final = frozenset({"text"})
"""Half of it is still worth something."""


def certain_beginning(data: bytes | str, dropped_whole: frozenset[str] = frozenset()) -> Any:
    """What surely stands in a cut document: all but its last value, of which only a text is kept half.

    `dropped_whole`: members that the cut may not have touched at all, since half of one (a tool call) is another one.

    None when nothing can be told. All on the way to the cut are containers; only the leaf at its end is in doubt.
    """
    value = _without_doubt(jsontext.loads_partial(data), "", dropped_whole)
    return None if value is _GONE else value


def _without_doubt(value: Any, key: str, dropped_whole: frozenset[str]) -> Any:
    if key in dropped_whole:
        return _GONE
    if isinstance(value, dict) and value:
        last = next(reversed(value))
        kept = _without_doubt(value[last], last, dropped_whole)
        rest = {name: item for name, item in value.items() if name != last}
        return rest if kept is _GONE else {**rest, last: kept}
    if isinstance(value, list) and value:
        kept = _without_doubt(value[-1], key, dropped_whole)
        return value[:-1] if kept is _GONE else [*value[:-1], kept]
    if isinstance(value, dict | list) or key in _KEPT_HALF:
        return value
    return _GONE
