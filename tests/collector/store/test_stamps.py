"""The time by which mining knows what is new."""

from hypothesis import given
from hypothesis import strategies as st

from spanlore_collector.store.stamps import LOOK_AGAIN_NS, Stamps

SECOND_NS = 10**9
NOW_NS = 1_800_000_000 * SECOND_NS


def test_under_a_clock_that_runs_a_stamp_is_its_time() -> None:
    """Nothing is added to it."""
    stamps = Stamps(0, 0)

    assert [stamps.next_ms(NOW_NS + n * SECOND_NS, n * SECOND_NS) * 10**6 - NOW_NS for n in (1, 2)] == [
        10**9,
        2 * 10**9,
    ]


def test_a_clock_that_was_ahead_is_caught_up_with() -> None:
    """Stamps go on at half the speed of time until it is, and then are the clock's again."""
    stamps = Stamps(0, 0)
    ahead = stamps.next_ms(NOW_NS + 3600 * SECOND_NS, 0)
    an_hour = stamps.next_ms(NOW_NS + 3600 * SECOND_NS, 3600 * SECOND_NS)
    three = stamps.next_ms(NOW_NS + 3 * 3600 * SECOND_NS, 3 * 3600 * SECOND_NS)

    assert an_hour == ahead + 1_800_000
    assert three * 10**6 == NOW_NS + 3 * 3600 * SECOND_NS


def test_a_store_with_later_stamps_is_gone_on_from() -> None:
    """Whoever wrote them, before the start or since."""

    class Told:
        def query(self, _: str) -> "Told":
            return self

        result_rows = ((NOW_NS // 10**6 + 9_000_000,),)

    stamps = Stamps(NOW_NS // 10**6 + 5_000_000, 0)
    assert stamps.next_ms(NOW_NS, 1) == NOW_NS // 10**6 + 5_000_001
    stamps.look_again(Told(), LOOK_AGAIN_NS - 1)  # type: ignore[arg-type]  # only asked
    assert stamps.next_ms(NOW_NS, 2) == NOW_NS // 10**6 + 5_000_002
    stamps.look_again(Told(), LOOK_AGAIN_NS)  # type: ignore[arg-type]  # only asked
    assert stamps.next_ms(NOW_NS, 3) == NOW_NS // 10**6 + 9_000_001


@given(st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 10**15)), min_size=2))
def test_stamps_only_rise(told: list[tuple[int, int]]) -> None:
    """Whatever a wall clock says, while the other one runs on."""
    stamps, at = Stamps(0, 0), 0
    seen = []
    for now_ns, passed_ns in told:
        at += passed_ns
        seen.append(stamps.next_ms(now_ns, at))

    assert seen == sorted(set(seen))
