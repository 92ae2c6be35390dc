"""What `bench proxy` measures: direct, bare mitmdump and spanlore, in many short rounds.

One run's median of all requests depends on what else the machine did meanwhile. So each round compares the targets
within a fraction of a second, all of them with the same bytes, and the figure is the median of the rounds with its
bootstrap interval. Requests alternate one by one, in every order, so that what spanlore does afterwards falls on all
alike; where it would pile up (bursts, streams) the next target waits until it is done. That nothing is hidden by
that is told by the CPU time, which counts all of it.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import cycle, permutations
from typing import Any, Final

from spanlore_proxy.bench.bodies import conversation
from spanlore_proxy.bench.budgets import (
    BARE,
    DELAY,
    FLAT,
    FRAME_DELAY,
    FRAMES,
    OURS,
    RATE,
    SIZES,
    WORK,
    estimate_fields,
)
from spanlore_proxy.bench.cpu import CpuClock
from spanlore_proxy.bench.load import Line, Target, chunk_delays_ms, chunks_per_s, latencies_ms, lines, requests_per_s
from spanlore_proxy.bench.percentiles import median_of_rounds, percentile, ratio
from spanlore_proxy.bench.sockets import frame_delays_ms, frames_per_s
from spanlore_proxy.bench.targets import Stage

EACH_ROUND: Final = 10
"""Timed requests of each target in a round, all of one conversation."""
WARM: Final = 2
"""Requests of each conversation that are not timed, besides its opening."""
BURST_ROUNDS: Final = 8
CONNECTIONS: Final = 20
BURST: Final = 4
"""Requests a connection in one burst."""
STREAM_ROUNDS: Final = 10
FRAME_ROUNDS: Final = 5
SLOW_CHUNKS: Final = 160
FLAT_CHUNKS: Final = 1500
SLOW_INTERVAL_MS: Final = 5
PARTS: Final = ("proxy", "collector")
"""Of spanlore, told apart in CPU time; the rest is one figure."""

type Rounds = dict[str, list[list[float]]]
"""Target → round → what was measured."""


class Comparison:
    """The rows, measured one after the other on one running stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._clock = CpuClock(stage.pids)
        self._orders = cycle(permutations(range(len(stage.targets))))
        gc.collect()
        gc.freeze()

    async def rows(self, requests: int) -> list[dict[str, Any]]:
        """Everything but the soak; `requests` of each size and target, rounded up to whole rounds."""
        rounds = max(-(-requests // EACH_ROUND), 1)
        async with lines(self._stage.targets, CONNECTIONS) as open_lines:
            await self._warm_up(open_lines)
            found = [await self._request_row(open_lines, size, rounds) for size in SIZES]
            found.append(await self._rate_row(open_lines))
            found.append({"what": WORK, **{f"{n} count": c for n, c in self._stage.settled().items()}})
            found.append(await self._delay_row(open_lines))
            found.append(await self._flat_row(open_lines))
        found.append(await self._frame_delay_row())
        found.append(await self._frames_row())
        return found

    async def _warm_up(self, open_lines: Sequence[Line]) -> None:
        """Each target does everything once: imports, certificates, caches."""
        talk = conversation(SIZES["200 KB"], EACH_ROUND, 0, "warm-up")
        await latencies_ms(open_lines, talk, 0)
        for line in open_lines:
            await chunks_per_s(line, talk.opening, "warm-up-stream", 3, 200)
        await self._clock.quiet()

    async def _request_row(self, open_lines: Sequence[Line], size: str, rounds: int) -> dict[str, Any]:
        found: Rounds = {line.name: [] for line in open_lines}
        before = self._clock.seconds()
        for number in range(rounds):
            talk = conversation(SIZES[size], WARM + EACH_ROUND, 1000 + number, f"{size}-{number}")
            for name, times in (await latencies_ms(open_lines, talk, WARM, self._orders)).items():
                found[name].append(times)
        self._stage.settled()
        cpu = self._cpu(before, rounds * (1 + WARM + EACH_ROUND), 1e-3, "cpu_ms a request")
        p50 = {name: percentile(_flat(times), 0.5) for name, times in found.items()}
        p99 = {name: percentile(_flat(times), 0.99) for name, times in found.items()}
        added = [percentile(o, 0.5) - percentile(b, 0.5) for o, b in zip(found[OURS], found[BARE], strict=True)]
        return {
            "what": f"request {size}",
            **{f"{name} p50_ms": round(value, 2) for name, value in p50.items()},
            **{f"{name} p99_ms": round(value, 2) for name, value in p99.items()},
            **estimate_fields(f"request {size}", median_of_rounds(added)),
            "added_over_bare_p99_ms": round(p99[OURS] - p99[BARE], 2),
            "x_bare_added": ratio(p50[OURS] - p50["direct"], p50[BARE] - p50["direct"]),
            "rounds count": rounds,
            **cpu,
        }

    async def _rate_row(self, open_lines: Sequence[Line]) -> dict[str, Any]:
        talks = [
            [conversation(SIZES["200 KB"], BURST, 100 * turn + n, f"burst-{turn}-{n}") for n in range(CONNECTIONS)]
            for turn in range(BURST_ROUNDS)
        ]
        return await self._per_s_row(
            RATE,
            open_lines,
            BURST_ROUNDS,
            lambda line, turn: requests_per_s(line, talks[turn]),
            CONNECTIONS * (BURST + 1),
            (1e-3, "cpu_ms a request"),
        )

    async def _delay_row(self, open_lines: Sequence[Line]) -> dict[str, Any]:
        body = conversation(SIZES["10 KB"], 1, 3, "chunks").bodies[0]
        return await self._delays_row(
            DELAY,
            open_lines,
            STREAM_ROUNDS,
            lambda line, turn: chunk_delays_ms(line, body, f"slow-{turn}", 3, SLOW_CHUNKS, SLOW_INTERVAL_MS),
            "cpu_us a chunk",
        )

    async def _flat_row(self, open_lines: Sequence[Line]) -> dict[str, Any]:
        body = conversation(SIZES["10 KB"], 1, 3, "chunks").bodies[0]
        return await self._per_s_row(
            FLAT,
            open_lines,
            STREAM_ROUNDS,
            lambda line, turn: chunks_per_s(line, body, f"flat-{turn}", 10, FLAT_CHUNKS),
            10 * FLAT_CHUNKS,
            (1e-6, "cpu_us a chunk"),
        )

    async def _frame_delay_row(self) -> dict[str, Any]:
        return await self._delays_row(
            FRAME_DELAY,
            self._stage.targets,
            FRAME_ROUNDS,
            lambda target, _: frame_delays_ms(target, 3, SLOW_CHUNKS, SLOW_INTERVAL_MS),
            "cpu_us a frame",
        )

    async def _frames_row(self) -> dict[str, Any]:
        return await self._per_s_row(
            FRAMES,
            self._stage.targets,
            FRAME_ROUNDS,
            lambda target, _: frames_per_s(target, 10, 4, 250),
            10 * 4 * 250,
            (1e-6, "cpu_us a frame"),
        )

    async def _delays_row[Way: (Line, Target)](
        self,
        what: str,
        ways: Sequence[Way],
        rounds: int,
        measure: Callable[[Way, int], Awaitable[list[float]]],
        unit: str,
    ) -> dict[str, Any]:
        before = self._clock.seconds()
        found = await self._in_turn(ways, rounds, measure)
        cpu = self._cpu(before, sum(map(len, found[OURS])), 1e-6, unit)
        p50 = {name: percentile(_flat(times), 0.5) for name, times in found.items()}
        p99 = {name: percentile(_flat(times), 0.99) for name, times in found.items()}
        times_bare = [percentile(o, 0.5) / percentile(b, 0.5) for o, b in zip(found[OURS], found[BARE], strict=True)]
        return {
            "what": what,
            **{f"{name} p50_ms": round(value, 3) for name, value in p50.items()},
            **{f"{name} p99_ms": round(value, 3) for name, value in p99.items()},
            **estimate_fields(what, median_of_rounds(times_bare)),
            "rounds count": rounds,
            **cpu,
        }

    async def _per_s_row[Way: (Line, Target)](
        self,
        what: str,
        ways: Sequence[Way],
        rounds: int,
        measure: Callable[[Way, int], Awaitable[float]],
        each_round: int,
        unit: tuple[float, str],
    ) -> dict[str, Any]:
        async def one(way: Way, turn: int) -> list[float]:
            return [await measure(way, turn)]

        before = self._clock.seconds()
        found = {name: _flat(rates) for name, rates in (await self._in_turn(ways, rounds, one)).items()}
        cpu = self._cpu(before, rounds * each_round, *unit)
        rates = {name: percentile(values, 0.5) for name, values in found.items()}
        times_bare = [ours / bare for ours, bare in zip(found[OURS], found[BARE], strict=True)]
        return {
            "what": what,
            **{f"{name} per_s": round(rate, 1) for name, rate in rates.items()},
            **estimate_fields(what, median_of_rounds(times_bare)),
            "rounds count": rounds,
            **cpu,
        }

    async def _in_turn[Way: (Line, Target)](
        self, ways: Sequence[Way], rounds: int, measure: Callable[[Way, int], Awaitable[list[float]]]
    ) -> Rounds:
        """Each target in each round, in changing order, and only once all that the one before left is done."""
        found: Rounds = {way.name: [] for way in ways}
        for turn in range(rounds):
            for chosen in next(self._orders):
                way = ways[chosen]
                await self._clock.quiet()
                found[way.name].append(await measure(way, turn))
        await self._clock.quiet()
        return found

    def _cpu(self, before: Mapping[str, float], count: int, unit_s: float, unit: str) -> dict[str, float]:
        """Of bare mitmdump, of spanlore's proxy and collector, and of the rest of spanlore together."""
        spent = self._clock.since(before, count, unit_s)
        rest = sum(value for name, value in spent.items() if name not in (BARE, *PARTS))
        shown = {BARE: spent[BARE], **{name: spent[name] for name in PARTS}, "rest of spanlore": rest}
        return {
            **{f"{name} {unit}": round(value, 2) for name, value in shown.items()},
            f"proxy over bare {unit}": round(spent["proxy"] - spent[BARE], 2),
        }


def _flat(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [value for one in rounds for value in one]
