from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.trust import DAY_NS, HALF_LIFE_DAYS, confidence_at, prior_of, weight_at

MEMORY = Memory("m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.ACTIVE, "a/b/c", "text", alpha=4, beta=2)


def test_every_kind_has_a_half_life() -> None:
    """Nothing is believed for ever by oversight."""
    assert set(HALF_LIFE_DAYS) == set(Kind)


def test_half_after_the_half_life() -> None:
    """The weight halves; the mean moves towards doubt, and falls below a half in time."""
    assert weight_at(MEMORY, 60 * DAY_NS) == 0.5
    assert confidence_at(MEMORY, 0) == pytest.approx(4 / 6)
    assert confidence_at(MEMORY, 60 * DAY_NS) == pytest.approx(2.5 / 4.5)
    assert confidence_at(MEMORY, 120 * DAY_NS) < 0.5


def test_more_evidence_lasts_longer() -> None:
    """What ten sessions showed is believed when what two showed is not any more."""
    known_well = replace(MEMORY, alpha=12)
    assert confidence_at(known_well, 120 * DAY_NS) > 0.5 > confidence_at(MEMORY, 120 * DAY_NS)


@given(st.sampled_from(Kind), st.integers(0, 4000))
def test_pins_and_requests_do_not_fade(kind: Kind, days: int) -> None:
    """Nor does anything before its evidence was made."""
    asked = replace(MEMORY, kind=Kind.EXPLICIT)
    pinned = replace(MEMORY, kind=kind, pinned=True)
    assert weight_at(asked, days * DAY_NS) == weight_at(pinned, days * DAY_NS) == 1
    assert weight_at(replace(MEMORY, kind=kind, updated_at_ns=5000 * DAY_NS), days * DAY_NS) == 1


def test_a_persons_word_starts_higher() -> None:
    """Explicit above correction above what was inferred."""
    means = [alpha / (alpha + beta) for alpha, beta in map(prior_of, (Kind.EXPLICIT, Kind.CORRECTION, Kind.USAGE))]
    assert means == sorted(means, reverse=True)
