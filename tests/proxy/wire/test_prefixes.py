from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.wire.prefixes import Prefix, Prefixes


def anything(_: Prefix[str]) -> bool:
    return True


def value(known: Prefixes[str], body: bytes) -> str | None:
    found = known.longest(body, anything)
    return None if found is None else found.value


@given(st.lists(st.tuples(st.binary(max_size=4), st.integers(0, 4))), st.binary(max_size=5))
def test_the_longest_that_the_body_begins_with(kept: list[tuple[bytes, int]], body: bytes) -> None:
    """By bytes and not by length: what is found is a beginning of the body, and none that is kept is a longer one."""
    known = Prefixes[bytes]()
    for other, end in kept:
        known.keep(other, min(end, len(other)), other[:end])
    found = known.longest(body, lambda _: True)
    expected = max((other[:end] for other, end in kept if body.startswith(other[:end])), key=len, default=None)

    assert (None if found is None else found.value) == expected
    assert found is None or (found.end == len(found.value) and bytes(found.view) == found.value)


def test_only_what_fits() -> None:
    """Who asks says what else has to agree."""
    known = Prefixes[str]()
    known.keep(b"abcd", 2, "short")
    known.keep(b"abcd", 4, "long")
    found = known.longest(b"abcdef", lambda prefix: prefix.value == "short")

    assert value(known, b"abcdef") == "long"
    assert found is not None
    assert found.value == "short"
    assert value(known, b"abXd") == "short"
    assert value(known, b"Xbcd") is None


def test_a_longer_one_takes_the_place_of_a_shorter() -> None:
    """Also when it is too large to be kept itself, or the shorter one is gone already."""
    known = Prefixes[str](max_bytes=20)
    known.keep(b"ab", 2, "first")
    first = known.longest(b"abcd", anything)
    known.keep(b"abcd", 3, "second", first)
    known.keep(b"abcdef", 5, "third", first)
    count = len(known)
    known.keep(b"x" * 17, 5, "too large", known.longest(b"abcdefgh", anything))

    assert (count, len(known)) == (2, 1)
    assert value(known, b"abcdefgh") == "second"


def test_bounded_by_bytes_and_number() -> None:
    """The ones not used for longest go first."""
    by_bytes, by_number = Prefixes[str](max_bytes=10), Prefixes[str](max_count=2)
    for known in (by_bytes, by_number):
        for name in ("one", "two"):
            known.keep(name.encode() + b"!!", 3, name)
        assert value(known, b"one more") == "one"
        known.keep(b"three", 5, "three")

        assert (value(known, b"one"), value(known, b"two"), value(known, b"three")) == ("one", None, "three")
    assert (by_bytes.may_keep(b"12345678"), by_bytes.may_keep(b"123456789")) == (True, False)
    by_bytes.clear()

    assert (len(by_bytes), len(by_number), value(by_bytes, b"one")) == (0, 2, None)
    by_bytes.keep(b"12345", 5, "room again")
    by_bytes.keep(b"54321", 5, "and more")
    assert len(by_bytes) == 2
