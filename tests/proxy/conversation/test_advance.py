"""One exchange moves one conversation on."""

import pytest

from spanlore_proxy.wire.exchange import End
from support.conversing import (
    REMINDER,
    SECOND_NS,
    START_NS,
    Play,
    assistant,
    call,
    ends,
    outcomes,
    place,
    result,
    said,
    spans,
    user,
)


def test_a_turn_counts_what_happened_in_it() -> None:
    """Inferences with failed ones among them, tools, failures, and the time from first to last."""
    play = Play().say(user("go"))
    play.fail()
    play.ask(call("t1", "make"), call("t2", "ls"))
    (turn,) = (
        play.say(user(result("t1", "Exit code 2", is_error=True), result("t2", "x"))).ask("done").observation.turns
    )

    assert (turn.inferences, turn.tool_calls, turn.failures, turn.end) == (3, 2, 1, "completed")
    assert (turn.start_time_ns, turn.end_time_ns) == (START_NS + 1 * SECOND_NS, START_NS + 9 * SECOND_NS)


@pytest.mark.parametrize(("stop", "ended"), [("end_turn", 1), ("refusal", 1), ("max_tokens", 0), ("pause_turn", 0)])
def test_only_a_model_that_stops_of_its_own_will_ends_a_turn(stop: str, ended: int) -> None:
    """Not one that ran out of tokens or paused."""
    assert len(Play().say(user("go")).ask("x", stop=stop).observation.turns) == ended


def test_a_changed_tool_list_is_told_again() -> None:
    """And when it changes back it is known."""
    play, tools = Play(), [{"name": "New", "input_schema": {}}]
    told = [
        [tool.name for tool in play.say(user(str(n))).ask("x", changes=changes).inference.tools]
        for n, changes in enumerate([{}, {"tools": tools}, {}])
    ]

    assert told == [["Bash", "Edit", "Agent"], ["New"], []]


def test_reminders_and_results_continue_a_turn() -> None:
    """A message with nothing of a person in it begins no turn; the turn is told again, with it."""
    play = Play().say(user("go"))
    play.ask(call("t1", "ls"))
    with_results = play.say(user(result("t1", ""), REMINDER)).ask("done")
    alone = play.say(user(REMINDER)).ask("noted")

    assert place(with_results)[0] == place(alone)[0] == 0
    assert ends(with_results) == [(0, "completed")]
    assert [(turn.inferences, turn.revision) for turn in alone.observation.turns] == [(3, 1)]


def test_a_notification_wakes_the_model_for_a_turn_of_its_own() -> None:
    """A background task that ends after the turn was over begins a turn in which nobody said anything."""
    note = "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nagent done\n</system-reminder>"
    play = Play().say(user("go"))
    play.ask("waiting")
    observed = play.say(user(note)).ask("It is done.")

    assert place(observed)[0] == 1
    assert ends(observed) == [(1, "completed")]
    assert observed.observation.turns[0].human == ()


def test_words_of_a_person_who_went_away_without_a_marker() -> None:
    """The client closed the connection in the middle of the answer: what comes next begins a turn."""
    play = Play().say(user("go"))
    play.ask(call("t1", "sleep 100"))
    play.say(user(result("t1", "")))
    play.exchange(b"", status=None, end=End.CLIENT_GONE)
    observed = play.say(user("something else")).ask("ok")

    assert said(observed) == [("user_message", "something else")]
    assert ends(observed) == [(0, "interrupted"), (1, "completed")]


def test_a_new_prompt_supersedes_a_turn_that_never_ended() -> None:
    """The answer ran into the token limit and nobody continued it."""
    play = Play().say(user("go"))
    play.ask("half an ans", stop="max_tokens")
    observed = play.say(user("never mind")).ask("ok")

    assert ends(observed) == [(0, "superseded"), (1, "completed")]


def test_a_call_that_is_passed_over_is_told_as_unanswered() -> None:
    """The history goes on without a result: nobody will ever know."""
    play = Play().say(user("go"))
    play.ask(call("t1", "ls"), call("t2", "make"))
    observed = play.say(user(result("t1", "x"), "[Request interrupted by user]", "stop")).ask("ok")

    assert outcomes(observed) == [("t1", "success", ""), ("t2", "unknown", "unanswered")]


def test_each_tool_is_told_once() -> None:
    """A result that is sent again with the next attempt, or in a message that has grown, is not told again."""
    play = Play().say(user("go"))
    play.ask(call("t1", "ls"))
    first = play.say(user(result("t1", "x")))
    assert outcomes(first.fail()) == [("t1", "success", "")]
    play.messages[-1] = user(result("t1", "x"), REMINDER)
    observed = play.ask("ok")

    assert outcomes(observed) == []
    assert observed.observation.turns[0].tool_calls == 1


def test_blanked_results_in_the_middle_are_not_new() -> None:
    """Agents blank old tool results to save room: what was told stays told."""
    play = Play().say(user("go"))
    play.ask(call("t1", "cat big"))
    play.say(user(result("t1", "x" * 1000))).ask(call("t2", "ls"))
    play.messages[2] = user(result("t1", "[Old tool result content cleared]"))
    observed = play.say(user(result("t2", "y"))).ask("done")

    assert outcomes(observed) == [("t2", "success", "")]
    assert observed.inference.new_from == 4


def test_text_added_to_a_message_that_never_got_an_answer() -> None:
    """After an error the user goes on typing, and the client puts the new text into the same message: the old words
    are not told again, and the new ones begin a turn."""
    play = Play().say(user("first try"))
    play.fail(400)
    play.messages[-1] = user("first try", "[Request interrupted by user]", "second try")
    observed = play.ask("ok")

    assert said(observed) == [("user_message", "second try")]
    assert ends(observed) == [(0, "interrupted"), (1, "completed")]


def test_a_retry_stands_where_the_failed_call_stood() -> None:
    """The same body after an error is the next attempt at the same place; after the answer the steps go on."""
    play = Play().say(user("go"))
    first = play.fail()
    second = play.again(play.exchanges[0])
    third = play.ask(call("t1", "ls"))
    fourth = play.say(user(result("t1", ""))).ask("done")

    assert [place(o) for o in (first, second, third, fourth)] == [(0, 0, 1), (0, 0, 2), (0, 0, 3), (0, 1, 1)]
    assert len({spans(o)[-1].span_id for o in (first, second, third, fourth)}) == 4
    assert said(first) == [("user_message", "go")] and not said(second) and not said(third)


def test_an_altered_echo_is_still_no_input() -> None:
    """Clients trim, drop or replace text of the model's before they send it back."""
    play = Play().say(user("go"))
    play.ask("  Fine, I shall.  ", call("t1", "ls"))
    play.messages[-1] = assistant("Shortened by the client", call("t1", "ls"))
    observed = play.say(user(result("t1", "a.py"))).ask("done")

    assert observed.inference.new_from == 2
    assert len(observed.inference.new_messages) == 1
    assert outcomes(observed) == [("t1", "success", "")]
