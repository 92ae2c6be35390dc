"""Function call arguments that are streamed in pieces (Vertex AI, `streamFunctionCallArguments`).

Each piece names its place by a JSON path (`$.recipe.steps[4]`); a string may come in several pieces, of which all but
the last say `willContinue`.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from spanlore_proxy.wire.gemini.fields import field, string_field

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d{1,6})\]|\[(['\"])(.*?)\3\]")
_MAX_INDEX: Final = 100_000
_VALUES: Final = ("stringValue", "numberValue", "boolValue", "structValue", "listValue")


class StreamedArguments:
    """The arguments of one call while they grow."""

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self._open = ""
        """Path of the string that the next piece continues; '' when none."""

    def add(self, piece: Any) -> bool:
        """Takes one piece; False when it names no place."""
        path = string_field(piece, "jsonPath")
        steps = _steps(path)
        if not steps:
            return False
        value = next((found for name in _VALUES if (found := field(piece, name)) is not None), None)
        container, key = self._place(steps)
        if container is None:
            return False
        before = _get(container, key)
        if path == self._open and isinstance(before, str) and isinstance(value, str):
            value = before + value
        if not _set(container, key, value):
            return False
        self._open = path if field(piece, "willContinue") is True else ""
        return True

    def _place(self, steps: list[str | int]) -> tuple[Any, str | int]:
        """(the object or list that holds the last step, the last step), made on the way; (None, '') if impossible."""
        at: Any = self.value
        for step, following in pairwise(steps):
            inner = _get(at, step)
            if not isinstance(inner, dict if isinstance(following, str) else list):
                inner = {} if isinstance(following, str) else []
                if not _set(at, step, inner):
                    return None, ""
            at = inner
        return at, steps[-1]


def _steps(path: str) -> list[str | int]:
    if not path.startswith("$"):
        return []
    found = _STEP.findall(path[1:])
    return [int(index) if index else name or quoted for name, index, _, quoted in found]


def _get(container: Any, key: str | int) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    return container[key] if isinstance(key, int) and key < len(container) else None


def _set(container: Any, key: str | int, value: Any) -> bool:
    if isinstance(container, dict) and isinstance(key, str):
        container[key] = value
        return True
    if not isinstance(container, list) or not isinstance(key, int) or key > min(len(container), _MAX_INDEX):
        return False
    if key == len(container):
        container.append(None)
    container[key] = value
    return True
