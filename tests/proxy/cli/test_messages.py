"""How the commands talk."""

import pytest

from spanlore_proxy.cli.messages import NOT_RUNNING, USAGE, WRONG, say


def test_messages_are_marked_and_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """stdout stays free for data."""
    say("text")

    assert capsys.readouterr() == ("", "spanlore: text\n")


def test_exit_codes_are_apart() -> None:
    """Scripts tell them from each other and from success."""
    assert len({0, WRONG, USAGE, NOT_RUNNING}) == 4
