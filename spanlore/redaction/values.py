"""Secrets out of JSON values, where a member's name tells what its value is.

`{"password": "…"}` and `{"name": "DB_PASSWORD", "value": "…"}` are told by their names, in tool arguments as much as in
text; a name may be a secret itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from spanlore.redaction.assigned import KEYWORDS

type Redact = Callable[[str], tuple[str, int]]
"""A text without its secrets, and how many there were."""

_TELLING: Final = re.compile(
    "|".join((*(re.escape(word.decode()) for word in KEYWORDS), "auth", "cookie")), re.IGNORECASE
)
"""What a name has in it that can make a secret of any value."""
_ENVIRONMENT_NAME: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_LONGEST_VALUE: Final = 4096
_SHORTEST_SECRET: Final = 8
_NAMES: Final = ("name", "key")
"""Members that name what stands in `value` beside them: environment lists of Kubernetes, compose, CI systems."""


def redact_value(value: Any, redact: Redact, name: str = "") -> tuple[Any, int]:
    """The value with every secret in it replaced, and how many. `name` is the member that holds it."""
    match value:
        case str():
            return _text(value, redact, name)
        case dict():
            return _object(value, redact)
        case list() | tuple():
            items = [redact_value(item, redact, name) for item in value]
            return [item for item, _ in items], sum(count for _, count in items)
        case _:
            return value, 0


def _object(value: dict[Any, Any], redact: Redact) -> tuple[dict[Any, Any], int]:
    clean: dict[Any, Any] = {}
    count = 0
    beside = next((value[name] for name in _NAMES if isinstance(value.get(name), str)), "")
    for key, item in value.items():
        name = key if isinstance(key, str) else ""
        clean_item, in_item = redact_value(item, redact, beside if name == "value" and beside else name)
        clean_key, in_key = redact(name) if len(name) >= _SHORTEST_SECRET else (key, 0)
        clean[clean_key] = clean_item
        count += in_item + in_key
    return clean, count


def _text(text: str, redact: Redact, name: str) -> tuple[str, int]:
    clean, count = redact(text)
    if not name or len(clean) > _LONGEST_VALUE or not _TELLING.search(name):
        return clean, count
    head = f'{name}="' if _ENVIRONMENT_NAME.fullmatch(name) else f'"{name}": "'
    entry, found = redact(head + clean + '"')
    if not found or not entry.startswith(head):
        return clean, count
    return entry[len(head) : -1], count + found
