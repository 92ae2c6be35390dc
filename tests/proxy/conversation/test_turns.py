"""Where turns begin."""

from typing import Any

import pytest

from spanlore_proxy.conversation.turns import turn_starts
from spanlore_proxy.wire.anthropic import decode_message
from support.conversing import assistant, call, result, user

NOTE = "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\ndone</system-reminder>"
REMINDER = "<system-reminder>x</system-reminder>"
COMMAND = "<command-name>/init</command-name>"


@pytest.mark.parametrize(
    ("messages", "indices"),
    [
        ([user("a"), assistant("x"), user("b")], [0, 2]),
        ([user("a"), assistant(call("t")), user(result("t", "")), assistant("x"), user("b")], [0, 4]),
        ([user("a"), assistant(call("t")), user(result("t", ""), "while you work")], [0]),
        ([user("a"), assistant(call("t")), user(result("t", ""), "[Request interrupted by user]", "stop")], [0, 2]),
        ([user("a"), assistant("x"), user(REMINDER)], [0]),
        ([user("a"), assistant("x"), user(NOTE)], [0, 2]),
        ([user("a"), assistant(call("t")), user(result("t", ""), NOTE)], [0]),
        ([user("a"), assistant("x"), user(COMMAND)], [0, 2]),
        ([user("a"), assistant("x"), user("b"), user("c")], [0, 3]),
        ([user(REMINDER), user("a")], [1]),
    ],
)
def test_turns_begin_with_words_of_a_person(messages: list[dict[str, Any]], indices: list[int]) -> None:
    """Or with a command, or a notification that wakes the model; with nothing else."""
    found = turn_starts(map(decode_message, messages), 0, is_first=True)

    assert [start.index for start in found] == indices


def test_a_run_in_the_middle_knows_what_was_before_it() -> None:
    """After a model that had stopped a notification begins a turn; after one that had been stopped any words do."""
    note, words = decode_message(user(NOTE)), decode_message(user(result("t", ""), "other"))

    assert [s.index for s in turn_starts([note], 7, has_stopped=True)] == [7]
    assert turn_starts([note], 7, has_stopped=False) == ()
    assert turn_starts([words], 7, has_stopped=False) == ()
    assert turn_starts([words], 7, has_stopped=False, is_stopped=True)[0].is_interruption
