"""The fuzzer's targets, on their seeds and on what a few mutations make of them. The fuzzing itself: tools/fuzz.sh."""

from __future__ import annotations

import random

import pytest

from support.fuzz_targets import seeds, targets

MUTATIONS = 20


@pytest.mark.parametrize("name", targets())
def test_nothing_raises(name: str) -> None:
    """Recorded bytes whole, cut, and with bytes changed."""
    target, cuts = targets()[name], random.Random(name)
    known = seeds(name) or [bytes([1, 7, 0x81, 5]) + b"hello", b"", b"\x00"]
    for seed in known:
        target(seed)
        for _ in range(MUTATIONS if len(seed) < 20_000 else 2):
            mutated = bytearray(seed)
            for _ in range(cuts.randint(1, 4)):
                if mutated:
                    mutated[cuts.randrange(len(mutated))] = cuts.randrange(256)
            target(bytes(mutated[: cuts.randint(0, len(mutated))]))


def test_every_dialect_has_its_seeds() -> None:
    """Answers and requests."""
    assert [name for name in targets() if name != "frames" and not seeds(name)] == []
