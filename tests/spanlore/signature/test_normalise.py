"""What differs between two runs of the same failure is taken out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.signature.normalise import normalise_line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ls: /home/ann/proj/src/: No such file", "ls: <dir>/src/: No such file"),
        ("src/app.py:12:3: error: x", "src/app.py:N:N: error: x"),
        ("open /tmp/pytest-of-root/x1: denied", "open <tmp>: denied"),
        ("fatal: unable to read e53647ba1f1e", "fatal: unable to read <hex>"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id <uuid>"),
        ("FAIL pkg 1.656s", "FAIL pkg <duration>"),
        ("listen 127.0.0.1:8080 failed", "listen <ip>:N failed"),
        ("error TS2304: Cannot find name", "error TS2304: Cannot find name"),
        ("GET https://x.example/a?b=1 failed", "GET <url> failed"),
        ("File does not exist. Did you mean a.py?", "File does not exist."),
        ("requires node 18.2.0", "requires node <version>"),
        ("no module utf8 in python3", "no module utf8 in python3"),
    ],
)
def test_accidents_become_marks(line: str, expected: str) -> None:
    """Paths, numbers, hashes and times go; names and diagnostic codes stay."""
    assert normalise_line(line) == expected


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["ann", "bob", "root"]))
def test_two_runs_look_the_same(line_number: int, count: int, name: str) -> None:
    """Neither numbers nor home directories make a difference."""
    text = f"/home/{name}/p/a.py:{line_number}: {count} problems"

    assert normalise_line(text) == normalise_line("/home/x/p/a.py:1: 2 problems")


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(
            ["/home/a/b.c", "12", "3.5s", "0xff", "deadbeef1", "error:", "a/b", "TS12", "1.2.3.4", "10:11:12"]
        ),
        max_size=6,
    )
)
def test_normalising_twice_changes_nothing(words: list[str]) -> None:
    """The function is idempotent."""
    once = normalise_line(" ".join(words))

    assert normalise_line(once) == once
