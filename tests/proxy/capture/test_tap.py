from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.capture import tap as tap_module
from spanlore_proxy.capture.tap import ResponseTap


def tapped(*times_ns: int) -> tuple[ResponseTap, list[str]]:
    """A tap with a clock that says these times, and the list that its end is noted in."""
    ends: list[str] = []
    clock = iter(times_ns or range(1, 10**6))
    return ResponseTap(lambda: next(clock), lambda: ends.append("end")), ends


@given(st.lists(st.binary(min_size=1)))
def test_chunks_go_through_unchanged(chunks: list[bytes]) -> None:
    """The very same objects are forwarded, and the copy is all of them."""
    tap, ends = tapped()
    forwarded = [tap(chunk) for chunk in chunks]

    assert all(out is chunk for out, chunk in zip(forwarded, chunks, strict=True))
    assert (tap.body(), tap.size_bytes, tap.is_whole, ends) == (b"".join(chunks), len(tap.body()), True, [])


def test_times_are_of_the_first_and_last_chunk() -> None:
    """The empty chunk at the end has no time: it says only that the body is over."""
    tap, ends = tapped(10, 20, 30)
    for chunk in (b"a", b"b", b"c", b""):
        tap(chunk)

    assert (tap.first_chunk_time_ns, tap.last_chunk_time_ns, ends) == (10, 30, ["end"])


def test_a_body_without_chunks_has_no_times() -> None:
    """Nothing arrived, so there is no first chunk."""
    tap, ends = tapped()
    tap(b"")

    assert (tap.first_chunk_time_ns, tap.body(), ends) == (None, b"", ["end"])


def test_a_body_of_told_length_ends_with_its_last_byte() -> None:
    """Before that is passed on: whoever has all of an answer may rely on its being known to be over."""
    ends: list[str] = []
    tap = ResponseTap(lambda: 7, lambda: ends.append("end"), length=5)
    tap(b"hel")
    before = list(ends)
    tap(b"lo")

    assert (before, ends, tap.body()) == ([], ["end"], b"hello")


def test_the_copy_is_bounded() -> None:
    """Beyond the bound chunks are forwarded and counted, but not kept."""
    tap, _ = tapped()
    big = b"x" * (tap_module.MAX_COPY_BYTES // 2)
    forwarded = [tap(big) for _ in range(4)]

    assert all(chunk is big for chunk in forwarded)
    assert (len(tap.body()), tap.size_bytes, tap.is_whole) == (2 * len(big), 4 * len(big), False)


def test_a_tap_with_another_body_saw_the_same() -> None:
    """Its times and sizes stay, whatever is kept in it."""
    tap = ResponseTap(lambda: 7, lambda: None)
    tap(b"hello")
    other = tap.with_body(b"x")

    assert (other.body(), other.size_bytes, other.is_whole) == (b"x", 5, True)
    assert (other.first_chunk_time_ns, other.last_chunk_time_ns) == (7, 7)
