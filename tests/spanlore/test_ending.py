"""How the commands talk."""

import pytest
import typer

from spanlore.ending import NOT_RUNNING, USAGE, WRONG, fail, say


def test_messages_are_marked_and_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    """stdout stays free for data."""
    say("text")

    assert capsys.readouterr() == ("", "spanlore: text\n")


def test_exit_codes_are_apart() -> None:
    """Scripts tell them from each other and from success."""
    assert len({0, WRONG, USAGE, NOT_RUNNING}) == 4


def test_a_failure_is_one_message_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    """No trace of ours reaches the user."""
    with pytest.raises(typer.Exit) as ended:
        fail("text", NOT_RUNNING)

    assert ended.value.exit_code == NOT_RUNNING
    assert capsys.readouterr() == ("", "spanlore: text\n")
