"""Keeps what all reading queries have in memory together within a bound.

A bound for each query lets as many as may run at once have many times that, and one for the whole engine ends whoever
asks next, which may be the writer. (The engine's own choice of a victim, its overcommit tracker, works by user, and
here all are one user; measured: the writer then waits until it fails.) So the memory of the running queries is looked
at while there are several, and the largest is ended when their sum is too much.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Final

log = logging.getLogger(__name__)

MAX_BYTES: Final = 112 * 1024**2
"""Of several reading queries; one alone may have a little more (`reader_settings.LIMITS`)."""
LOOK_S: Final = 0.1
"""How often; a query takes some tens of megabytes in between."""

type Look = Callable[[], Mapping[str, int]]
"""Name of every running query → bytes it has in memory. May raise."""


class MemoryWatch:
    """Ends the largest of several queries when together they have too much. Names are `log_comment`s."""

    def __init__(self, look: Look, kill: Callable[[str], None], max_bytes: int = MAX_BYTES) -> None:
        self._look = look
        self._kill = kill
        self._max_bytes = max_bytes
        self._running: set[str] = set()
        self._ended: set[str] = set()
        self._changed = threading.Condition()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="reader-memory", daemon=True)

    def start(self) -> None:
        """Starts its thread."""
        self._thread.start()

    def stop(self) -> None:
        """Ends it."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def began(self, name: str) -> None:
        """A query runs."""
        with self._changed:
            self._running.add(name)
            if len(self._running) == 2:
                self._changed.notify()

    def ended(self, name: str) -> None:
        """It runs no more."""
        with self._changed:
            self._running.discard(name)
            self._ended.discard(name)

    def has_ended(self, name: str) -> bool:
        """Whether it was ended from here."""
        return name in self._ended

    def look(self) -> str:
        """Ends one query if there is too much; returns its name, or ''."""
        with self._changed:
            running = self._running - self._ended
        sizes = {name: size for name, size in self._look().items() if name in running}
        if len(sizes) < 2 or sum(sizes.values()) <= self._max_bytes:
            return ""
        largest = max(sizes, key=lambda name: sizes[name])
        with self._changed:
            if largest not in self._running:
                return ""
            self._ended.add(largest)
        self._kill(largest)
        return largest

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_over or len(self._running) > 1)
                # Most queries are over before there is anything to see.
                if self._changed.wait_for(lambda: self._is_over, LOOK_S):
                    return
                if len(self._running) < 2:
                    continue
            try:
                self.look()
            # A watch that dies in silence is none; the engine's own bounds stay.
            except Exception:
                log.exception("can't look at the memory of queries")
