"""Gemini's JSON names, in both of protobuf's spellings: `functionCall` and `function_call` are the same field.

Google's clients write camel case, clients made from the protobuf definitions write snake case, and the API takes both.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

_UNDERSCORE = re.compile(r"_([a-z0-9])")
_CAPITAL = re.compile(r"[A-Z]")


def field(mapping: Any, name: str) -> Any:
    """The value of a field by its camel-case name, whichever spelling it has; None when absent or no object."""
    if not isinstance(mapping, dict):
        return None
    value = mapping.get(name)
    return mapping.get(snake(name)) if value is None else value


def object_field(mapping: Any, name: str) -> dict[str, Any]:
    """The same for a field that holds an object; {} when it does not."""
    value = field(mapping, name)
    return value if isinstance(value, dict) else {}


def list_field(mapping: Any, name: str) -> list[Any]:
    """The same for a repeated field; a single value counts as a list of one."""
    value = field(mapping, name)
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def string_field(mapping: Any, name: str) -> str:
    """The same for a text; '' when it is none."""
    value = field(mapping, name)
    return value if isinstance(value, str) else ""


@cache
def snake(name: str) -> str:
    """`functionCall` → `function_call`. Only for names that stand in this package's source."""
    return _CAPITAL.sub(lambda found: "_" + found[0].lower(), name)


def camel(name: str) -> str:
    """`function_call` → `functionCall`; other names stay."""
    return _UNDERSCORE.sub(lambda found: found[1].upper(), name) if "_" in name else name
