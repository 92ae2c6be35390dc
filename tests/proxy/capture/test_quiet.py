import asyncio
import math
import selectors
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, cast

from spanlore_proxy.capture.quiet import (
    BELIEVED_S,
    LONGEST_WAIT_S,
    PACE_S,
    IdleSelector,
    Pace,
    QuietMoments,
    quiet_loop,
)


def standing() -> float:
    """A clock at which waiting never comes to its end."""
    return 100.0


def waiting(quiet: QuietMoments, is_urgent: bool) -> tuple[threading.Thread, threading.Event]:
    """A thread that waits for a quiet moment, and whether it has come."""
    has_come = threading.Event()

    def wait() -> None:
        quiet.wait(lambda: is_urgent)
        has_come.set()

    worker = threading.Thread(target=wait)
    worker.start()
    return worker, has_come


async def test_an_idle_loop_is_not_waited_for() -> None:
    """With nothing to do the loop answers, and that is enough."""
    quiet = QuietMoments(asyncio.get_running_loop(), clock=standing)
    async with asyncio.timeout(120):
        await asyncio.to_thread(quiet.wait, lambda: False)


async def test_a_busy_loop_is_waited_for() -> None:
    """Work waits until the loop answers."""
    worker, has_come = waiting(QuietMoments(asyncio.get_running_loop(), clock=standing), is_urgent=False)
    waited = not has_come.wait(0.1)  # a loop that is busy: with this
    await asyncio.to_thread(worker.join, 20)

    assert (waited, has_come.is_set()) == (True, True)


async def test_a_request_is_waited_for_but_not_for_ever() -> None:
    """While a request arrives work waits, up to a bound."""
    looks = iter(range(1000))
    quiet = QuietMoments(asyncio.get_running_loop(), lambda: True, clock=lambda: next(looks) * LONGEST_WAIT_S / 10)
    await asyncio.to_thread(quiet.wait, lambda: False)

    assert 10 <= next(looks) <= 12


async def test_urgent_work_waits_for_nobody() -> None:
    """A full queue, or the end, is no time for courtesy."""
    worker, has_come = waiting(QuietMoments(asyncio.get_running_loop(), clock=standing), is_urgent=True)

    assert has_come.wait(20)  # meanwhile the loop is busy: with this
    worker.join()


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

    quiet = QuietMoments(cast("asyncio.AbstractEventLoop", Loop()), clock=lambda: now_s)
    for _ in range(3):
        await asyncio.to_thread(quiet.wait, lambda: False)
    first = asked
    now_s += BELIEVED_S
    await asyncio.to_thread(quiet.wait, lambda: False)

    assert (first, asked) == (1, 2)


def test_a_loop_that_tells_is_never_woken_up() -> None:
    """It is quiet once it has waited for a moment, and not while it works; nobody asks it."""

    async def main() -> tuple[float, float, int]:
        loop, woken = asyncio.get_running_loop(), 0
        quiet = QuietMoments(loop)
        real = loop.call_soon_threadsafe

        def counted(*arguments: Any, **options: Any) -> asyncio.Handle:
            nonlocal woken
            woken += threading.current_thread() is worker
            return real(*arguments, **options)

        loop.call_soon_threadsafe = counted  # type: ignore[method-assign, assignment]
        waited: list[float] = []

        def work() -> None:
            for _ in range(2):
                started = time.monotonic()
                quiet.wait(lambda: False)
                waited.append(time.monotonic() - started)
                time.sleep(0.05)

        worker = threading.Thread(target=work)
        worker.start()
        time.sleep(0.1)  # noqa: ASYNC251 - a loop that is busy
        await asyncio.sleep(LONGEST_WAIT_S)
        await asyncio.to_thread(worker.join, 10)
        return waited[0], waited[1], woken

    with asyncio.Runner(loop_factory=quiet_loop) as runner:
        busy, idle, woken = runner.run(main())

    assert busy >= 0.09
    assert idle < LONGEST_WAIT_S
    assert woken == 0


def test_a_selector_that_only_looks_is_not_idle() -> None:
    """Between two callbacks the loop looks without waiting."""
    seen: list[bool] = []

    def look() -> None:
        time.sleep(0.05)
        seen.append(selector.idle_since <= time.monotonic())
        other.send(b".")

    with IdleSelector() as selector:
        one, other = socket.socketpair()
        with one, other:
            selector.register(one, selectors.EVENT_READ)
            looker = threading.Thread(target=look)
            selector.select(0)
            assert selector.idle_since == math.inf
            looker.start()
            assert selector.select(5)
            looker.join()

    assert seen == [True]
    assert selector.idle_since == math.inf


def test_long_work_looks_now_and_then() -> None:
    """Of many short steps in a row only those give way that come a while after the last one that did."""
    now, given = [0.0], list[float]()
    pace = Pace(lambda: now[0])
    pace.give_way = lambda: given.append(now[0])
    step = pace.paced(str.upper)

    for number in range(100):
        now[0] = number * PACE_S / 10
        assert step("a") == "A"

    assert 9 <= len(given) <= 11
