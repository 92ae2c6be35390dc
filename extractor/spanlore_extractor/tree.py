"""A working tree, asked about the few things that memories name. Reads files, never runs anything."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

import orjson

MAX_FILE_BYTES: Final = 4 * 1024**2
"""Of a larger file only its size is looked at."""


class WorkingTree:
    """One checkout. What was looked at once is not looked at again: a tree is asked for one pass."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._bodies: dict[str, bytes | None] = {}

    def digest(self, path: str) -> str | None:
        """16 hex digits of a file's content, '' for a directory, None when there is nothing below the root."""
        found = self._below(path)
        if found is None:
            return None
        if found.is_dir():
            return ""
        body = self._body(path)
        return None if body is None else hashlib.blake2b(body, digest_size=8).hexdigest()

    def defines(self, file: str, name: str) -> bool:
        """Whether a Makefile, justfile or package.json defines the target or script. A Makefile that includes others
        or makes its targets by pattern is taken at its word."""
        body = self._body(file) or b""
        text = body.decode("utf-8", "replace")
        if file.endswith("package.json"):
            try:
                return name in (orjson.loads(body).get("scripts") or {})
            except (orjson.JSONDecodeError, AttributeError, TypeError):
                return True
        if re.search(r"^-?include\b|^s?import\b|%:|\$\(eval", text, re.M):
            return True
        return re.search(rf"^@?(?:[\w./-]+ +)*{re.escape(name)}\b[^=\n]*:(?!=)", text, re.M) is not None

    def mentions(self, file: str, word: str) -> bool:
        """Whether the file holds that word."""
        text = (self._body(file) or b"").decode("utf-8", "replace")
        return re.search(rf"\b{re.escape(word)}\b", text) is not None

    def _below(self, path: str) -> Path | None:
        """The path when it exists and, links followed, lies in the tree."""
        try:
            found = (self._root / path).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            return None
        return found if found.is_relative_to(self._root) else None

    def _body(self, path: str) -> bytes | None:
        if path not in self._bodies:
            self._bodies[path] = self._read(path)
        return self._bodies[path]

    def _read(self, path: str) -> bytes | None:
        found = self._below(path)
        try:
            if found is None or not found.is_file():
                return None
            size = found.stat().st_size
            return found.read_bytes() if size <= MAX_FILE_BYTES else f"{size} bytes".encode()
        except OSError:
            return None
