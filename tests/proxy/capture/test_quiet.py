import asyncio
import time

from spanlore_proxy.capture.quiet import LONGEST_WAIT_S, QuietMoments


async def test_an_idle_loop_is_not_waited_for() -> None:
    """With nothing to do the loop answers at once."""
    quiet = QuietMoments(asyncio.get_running_loop())
    started = time.monotonic()
    await asyncio.to_thread(quiet.wait, lambda: False)

    assert time.monotonic() - started < LONGEST_WAIT_S


async def test_a_busy_loop_is_waited_for_but_not_for_ever() -> None:
    """Work waits while the loop is busy, up to a bound."""
    quiet = QuietMoments(asyncio.get_running_loop())
    started = time.monotonic()
    work = asyncio.create_task(asyncio.to_thread(quiet.wait, lambda: False))
    while not work.done():
        time.sleep(0.004)  # noqa: ASYNC251 - a loop that is busy
        await asyncio.sleep(0)
    waited_s = time.monotonic() - started

    assert LONGEST_WAIT_S <= waited_s < 4 * LONGEST_WAIT_S


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
