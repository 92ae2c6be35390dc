import asyncio
import time
from collections.abc import Callable
from typing import cast

from spanlore_proxy.capture.quiet import BELIEVED_S, LONGEST_WAIT_S, QuietMoments


async def test_an_idle_loop_is_not_waited_for() -> None:
    """With nothing to do the loop answers at once."""
    quiet = QuietMoments(asyncio.get_running_loop())
    started = time.monotonic()
    await asyncio.to_thread(quiet.wait, lambda: False)

    assert time.monotonic() - started < LONGEST_WAIT_S


async def test_a_busy_loop_is_waited_for() -> None:
    """Work waits until the loop answers."""
    quiet = QuietMoments(asyncio.get_running_loop())
    started = time.monotonic()
    work = asyncio.create_task(asyncio.to_thread(quiet.wait, lambda: False))
    await asyncio.sleep(0)
    time.sleep(0.1)  # noqa: ASYNC251 - a loop that is busy
    await work

    assert 0.1 <= time.monotonic() - started < 4 * LONGEST_WAIT_S


async def test_a_request_is_waited_for_but_not_for_ever() -> None:
    """While a request arrives work waits, up to a bound."""
    quiet = QuietMoments(asyncio.get_running_loop(), lambda: True)
    started = time.monotonic()
    await asyncio.to_thread(quiet.wait, lambda: False)

    assert LONGEST_WAIT_S <= time.monotonic() - started < 4 * LONGEST_WAIT_S


async def test_urgent_work_waits_for_nobody() -> None:
    """A full queue, or the end, is no time for courtesy."""
    quiet = QuietMoments(asyncio.get_running_loop())
    started = time.monotonic()
    work = asyncio.create_task(asyncio.to_thread(quiet.wait, lambda: True))
    time.sleep(0.01)  # noqa: ASYNC251 - a loop that is busy
    await work

    assert time.monotonic() - started < LONGEST_WAIT_S


def test_a_closed_loop_is_quiet() -> None:
    """At the end of the process there is nobody left to give way to."""
    loop = asyncio.new_event_loop()
    loop.close()

    QuietMoments(loop).wait(lambda: False)


async def test_an_answer_counts_for_a_moment() -> None:
    """The loop is not woken up again for the next piece of work, until some milliseconds later."""
    now_s, asked = 100.0, 0
    loop = asyncio.get_running_loop()

    class Loop:
        def call_soon_threadsafe(self, done: Callable[[], None]) -> None:
            nonlocal asked
            asked += 1
            loop.call_soon_threadsafe(done)

    quiet = QuietMoments(cast(asyncio.AbstractEventLoop, Loop()), clock=lambda: now_s)
    for _ in range(3):
        await asyncio.to_thread(quiet.wait, lambda: False)
    first = asked
    now_s += BELIEVED_S
    await asyncio.to_thread(quiet.wait, lambda: False)

    assert (first, asked) == (1, 2)
