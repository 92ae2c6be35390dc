"""Waiting for a moment in which no agent waits.

The recorder's thread and the event loop share one interpreter lock, and an agent waits for the one but not for the
other. So the recorder asks before each piece of work whether a request is arriving, and whether the loop answers at
once, and leaves it alone for a while when not. Under load it falls behind, within its queue's bound, and catches up
when the burst is over.

A loop of `quiet_loop` tells by itself since when it waits for something to do: to ask it would wake it up, which is
work as well. Any other loop is asked.
"""

from __future__ import annotations

import asyncio
import math
import selectors
import threading
import time
import weakref
from collections.abc import Callable
from typing import Final

QUIET_S: Final = 0.001
"""A loop that answers within this has nothing else to do."""
IDLE_S: Final = 0.002
"""So long a loop has to have waited already: between two reads of one request it waits, too."""
BELIEVED_S: Final = 0.005
"""How long the loop's answer counts: asking wakes it up, which is work as well."""
PAUSE_S: Final = 0.003
PACE_S: Final = 0.002
"""Of a piece of work that can stop in the middle, between two looks at the loop."""
LONGEST_WAIT_S: Final = 0.25
"""For one piece of work (some milliseconds); then it is done, whatever the loop does."""


class IdleSelector(selectors.DefaultSelector):
    """Knows since when its loop has nothing to do."""

    idle_since = math.inf
    """By `time.monotonic`; infinite while the loop works. Read from any thread."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """As the selector's; a call that does not wait says nothing about the loop."""
        if timeout is None or timeout > 0:
            self.idle_since = time.monotonic()
        try:
            return super().select(timeout)
        finally:
            self.idle_since = math.inf


_SELECTORS: Final[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, IdleSelector]] = weakref.WeakKeyDictionary()


def quiet_loop() -> asyncio.AbstractEventLoop:
    """A new event loop that tells since when it has nothing to do; for `asyncio.run(loop_factory=…)`."""
    selector = IdleSelector()
    loop = asyncio.SelectorEventLoop(selector)
    _SELECTORS[loop] = selector
    return loop


class QuietMoments:
    """Watches one event loop. `wait` is called from another thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        is_serving: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`is_serving`: a request has begun to arrive and has not left yet. Called from the other thread."""
        self._loop = loop
        self._selector = _SELECTORS.get(loop)
        self._is_serving = is_serving
        self._clock = clock
        self._quiet_until = 0.0

    def wait(self, is_urgent: Callable[[], bool]) -> None:
        """Returns when the loop is quiet, when it has been waited for long enough, or as soon as the work is urgent."""
        end = self._clock() + LONGEST_WAIT_S
        while not is_urgent() and not self._is_quiet() and self._clock() < end:
            time.sleep(PAUSE_S)

    def _is_quiet(self) -> bool:
        if self._is_serving():
            return False
        if self._selector is not None:
            return self._loop.is_closed() or self._clock() - self._selector.idle_since >= IDLE_S
        asked = self._clock()
        if asked < self._quiet_until:
            return True
        answered = threading.Event()
        try:
            self._loop.call_soon_threadsafe(answered.set)
        except RuntimeError:
            return True  # the loop is closed
        is_quiet = answered.wait(LONGEST_WAIT_S) and self._clock() - asked <= QUIET_S
        if is_quiet:
            self._quiet_until = asked + BELIEVED_S
        return is_quiet


class Pace:
    """For work that is long: called at every place where it can stop, lets `give_way` be asked now and then. For one
    thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.give_way: Callable[[], object] = lambda: None
        """Set by whoever does the work."""
        self._clock = clock
        self._next = 0.0

    def __call__(self) -> None:
        if self._clock() >= self._next:
            self.give_way()
            self._next = self._clock() + PACE_S

    def paced[**Given, Found](self, work: Callable[Given, Found]) -> Callable[Given, Found]:
        """The same work, which can stop before each call."""

        def after_a_look(*args: Given.args, **kwargs: Given.kwargs) -> Found:
            self()
            return work(*args, **kwargs)

        return after_a_look
