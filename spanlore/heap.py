"""Keeps glibc's heap small without making it slow.

Bodies of a megabyte are allocated and freed in several threads, some eight copies of each in mitmproxy and TLS. By
default glibc keeps freed memory in a heap for each thread: 204 MB resident after sixty requests of 1 MB, of which 84
were free. Mapping such blocks one by one instead (a threshold of 256 KiB) keeps it at 127 MB, but costs 1,200 page
faults a request, 3 to 4 ms. So: two heaps, blocks below 4 MiB from the heap, up to 16 MiB kept free at its top (no
faults, 145 MB), and what is free further down goes back to the system once there has been nothing to do for a while.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import Callable
from typing import Any, Final

M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
M_ARENA_MAX: Final = -8
"""Numbers of <malloc.h>."""
MAPPED_FROM_BYTES: Final = 4 * 1024**2
KEPT_FREE_BYTES: Final = 16 * 1024**2
ARENAS: Final = 2
IDLE_S: Final = 30.0


def bound_heap() -> bool:
    """Sets it for this process; False where the C library is another (macOS, musl). Best before threads start."""
    mallopt = _function("mallopt")
    if mallopt is None:
        return False
    options = (
        (M_ARENA_MAX, ARENAS),
        (M_MMAP_THRESHOLD, MAPPED_FROM_BYTES),
        (M_TRIM_THRESHOLD, KEPT_FREE_BYTES),
    )
    return all([bool(mallopt(name, value)) for name, value in options])


def release_heap() -> bool:
    """Gives free memory back to the system: some milliseconds, and page faults for whoever allocates next. False where
    there was none, or the C library is another."""
    trim = _function("malloc_trim")
    return trim is not None and bool(trim(0))


async def release_when_idle(is_idle: Callable[[], bool], work_done: Callable[[], int], idle_s: float = IDLE_S) -> None:
    """Runs until cancelled: releases the heap after each time of work, once there was none for `idle_s`.

    `work_done` counts what was done so far.
    """
    released, before = 0, 0
    while True:
        await asyncio.sleep(idle_s)
        done = work_done()
        if done != released and done == before and is_idle():
            gc.collect()  # mitmproxy's connections and flows are cyclic
            release_heap()
            released = done
        before = done


def _function(name: str) -> Any:
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError, TypeError):
        return None
