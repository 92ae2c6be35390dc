"""Exit codes that are answers."""

import pytest

from spanlore.harness.benign_exits import is_benign
from spanlore.signature.command import parse_command


@pytest.mark.parametrize(
    ("command", "exit_code", "expected"),
    [
        ("grep -q a b", 1, True),
        ("grep -q a b", 2, False),
        ("cmp a b", 1, True),
        ("pgrep -f x", 1, True),
        ("git -C /x config gc.auto", 1, True),
        ("git merge-base --is-ancestor a b", 1, True),
        ("git merge-base a b", 1, False),
        ("git check-ignore x", 1, True),
        ("git commit -m x", 1, False),
        ("systemctl is-active x", 3, True),
        ("systemctl start x", 3, False),
        ("jq -e .a x.json", 1, True),
        ("test -f a && echo yes", 1, True),
        ("test -f a && make", 1, False),
        ("make && grep -q ok log", 1, True),
        ("grep -q ok log && make", 1, False),
        ("", 1, False),
    ],
)
def test_an_answer_is_no_failure(command: str, exit_code: int, expected: bool) -> None:
    """Only for the command that decides the status, and only for the code that means no."""
    assert is_benign(parse_command(command), exit_code) is expected
