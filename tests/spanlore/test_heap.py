import asyncio
import subprocess
import sys
import textwrap

import pytest

from spanlore import heap
from spanlore.heap import ARENAS, KEPT_FREE_BYTES, bound_heap


@pytest.mark.skipif(not bound_heap(), reason="the C library is not glibc")
def test_freed_bodies_are_given_back() -> None:
    """After large blocks were allocated and freed in several threads little of them stays resident."""
    program = textwrap.dedent(
        """
        import threading, psutil
        from spanlore.heap import bound_heap
        bound_heap()
        before = psutil.Process().memory_info().rss
        def work():
            for _ in range(5):
                blocks = [bytes(700_000 + 4096 * n) for n in range(20)]
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(psutil.Process().memory_info().rss - before)
        """
    )
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout

    assert int(grown) < ARENAS * KEPT_FREE_BYTES + 8 * 1024**2


@pytest.mark.skipif(not bound_heap(), reason="the C library is not glibc")
def test_a_large_body_costs_no_page_faults() -> None:
    """Blocks of a megabyte are not mapped and unmapped each time, which costs a fault for each of their 256 pages."""
    program = textwrap.dedent(
        """
        import resource
        from spanlore.heap import bound_heap
        bound_heap()
        body = b"x" * 10**6
        for number in range(60):
            if number == 10:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            copies = [bytes(bytearray(body)) for _ in range(4)]
            del copies
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
        """
    )
    faults = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout

    assert int(faults) < 50 * 4 * 20


@pytest.mark.skipif(not bound_heap(), reason="the C library is not glibc")
def test_free_memory_goes_back() -> None:
    """What is free between blocks that are still used is given back when it is asked for."""
    program = textwrap.dedent(
        """
        import psutil
        from spanlore.heap import bound_heap, release_heap
        bound_heap()
        blocks = [bytes(bytearray(700_000)) for _ in range(100)]
        blocks = blocks[::10]
        before = psutil.Process().memory_info().rss
        print(release_heap(), before - psutil.Process().memory_info().rss)
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout.split()

    assert done[0] == "True"
    assert int(done[1]) > 20 * 1024**2


async def test_it_is_released_once_after_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not while there is work, not again and again while there is none, and again after the next work."""
    released: list[int] = []
    done, is_idle = 0, True
    monkeypatch.setattr(heap, "release_heap", lambda: released.append(done))
    task = asyncio.create_task(heap.release_when_idle(lambda: is_idle, lambda: done, idle_s=0.001))
    await asyncio.sleep(0.02)
    done, is_idle = 1, False
    await asyncio.sleep(0.02)
    busy = list(released)
    is_idle = True
    await asyncio.sleep(0.05)
    done = 2
    await asyncio.sleep(0.05)
    task.cancel()

    assert (busy, released) == ([], [1, 2])
