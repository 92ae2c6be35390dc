"""Turns that nobody ends."""

import pytest

from spanlore.genai.messages import ToolCall
from spanlore_proxy.conversation import closing
from spanlore_proxy.conversation.closing import ALIVE_NS, GONE_NS, WORKING_NS, OpenCalls, patience_ns
from spanlore_proxy.conversation.tracker import Tracker, state_from_json, state_to_json
from support.conversing import SECOND_NS, START_NS, Play, call, ends, result, user

MINUTE_NS = 60 * 10**9
NOW_NS = START_NS + 100 * SECOND_NS


@pytest.mark.parametrize(
    ("idle_ns", "is_alive", "is_working", "expected"),
    [
        (0, True, False, ALIVE_NS),
        (10 * MINUTE_NS, True, True, ALIVE_NS),
        (2 * ALIVE_NS, True, True, 2 * ALIVE_NS),
        (10 * MINUTE_NS, False, True, GONE_NS),
        (0, False, True, 0),
        (10 * MINUTE_NS, None, False, 10 * MINUTE_NS),
        (10 * MINUTE_NS, None, True, WORKING_NS),
    ],
)
def test_patience(idle_ns: int, is_alive: bool | None, is_working: bool, expected: int) -> None:
    """A living agent's turn waits for a day, a dead one's for a moment; of an unknown one only the setting counts,
    unless a tool is running."""
    assert patience_ns(idle_ns, is_alive=is_alive, is_working=is_working) == expected


def test_a_living_agents_turn_counts_all_of_it() -> None:
    """However long its tools take: closed by silence alone it would have been told with what had happened by then."""
    play = Play().say(user("build it"))
    play.ask(call("t1", "make"))
    assert play.tracker.close_idle(NOW_NS, 0, lambda run_id: True) == []
    play.now_s += 3 * 3600
    observed = play.say(user(result("t1", "ok"))).ask("Built.")

    assert ends(observed) == [(0, "completed")]
    assert observed.observation.turns[0].inferences == 2


def test_calls_that_a_dead_agent_left_open_are_told() -> None:
    """As unanswered, in their turn, with their command; an agent that merely waits may still answer."""
    play = Play().say(user("go"))
    play.ask(call("t1", "submit"), call("t2", "ls"))
    (waiting,) = Play(tracker=play.tracker, session="other").say(user("x")).ask(call("t3", "a")).changed[-1:]
    alive = play.tracker.close_idle(NOW_NS, 0, lambda run_id: None)
    (told, _) = play.tracker.close_idle(NOW_NS, 0, lambda run_id: False)

    assert waiting.pending and alive == []
    assert [(tool.call.id, tool.command, tool.outcome_reason) for tool in told.tools] == [
        ("t1", "submit", "unanswered"),
        ("t2", "ls", "unanswered"),
    ]
    (turn,) = told.turns
    assert (turn.end, turn.tool_calls, turn.failures) == ("idle", 2, 0)
    assert {tool.turn_span_id for tool in told.tools} == {turn.span_id}
    assert play.tracker.close_idle(NOW_NS, 0, lambda run_id: False) == []


def test_each_run_is_asked_for_once() -> None:
    """However many conversations it has."""
    play = Play()
    for number in range(3):
        Play(tracker=play.tracker, session=f"s{number}").say(user("go")).ask(call("t1", "make"))
    asked: list[str] = []
    play.tracker.close_idle(NOW_NS, 0, lambda run_id: asked.append(run_id))

    assert asked == ["run-1"]


def test_open_calls_are_few_and_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conversations used last, and no long arguments: the name is enough then."""
    monkeypatch.setattr(closing, "MAX_CONVERSATIONS", 2)
    calls = OpenCalls()
    for name in ("a", "b", "c"):
        calls.keep(name, [ToolCall("1", "Bash", {"command": "ls"}), ToolCall("2", "Write", {"text": "x" * 20_000})])
    calls.keep("c", [])

    assert calls.take("a") == calls.take("c") == {}
    assert calls.take("b") == {"1": ToolCall("1", "Bash", {"command": "ls"}), "2": ToolCall("2", "Write", None)}
    assert calls.take("b") == {}


def restarted(play: Play) -> None:
    """Another tracker, that knows what the first one left on disk."""
    states = [state_from_json(state_to_json(state)) for state in play.tracker._states.values()]
    play.tracker = Tracker()
    play.tracker.restore(states)


@pytest.mark.parametrize("is_restarted", [False, True], ids=["one-proxy", "restarted"])
@pytest.mark.parametrize("words", ["build it", "build it " * 1000], ids=["short", "long"])
def test_a_turn_closed_by_silence_that_goes_on_is_told_again(words: str, *, is_restarted: bool) -> None:
    """With all that happened in it, under the id it had: nobody knew the process, and the tool took long."""
    play = Play().say(user(words))
    play.ask(call("t1", "make"))
    (idle,) = play.tracker.close_idle(NOW_NS + WORKING_NS, 0)
    if is_restarted:
        restarted(play)
    play.now_s += 3 * 3600
    observed = play.say(user(result("t1", "Exit code 2", is_error=True))).ask("No luck.")
    (early,), (whole,) = idle.turns, observed.observation.turns

    assert (early.end, early.inferences, early.tool_calls, early.revision) == ("idle", 1, 0, 0)
    assert (whole.end, whole.inferences, whole.tool_calls, whole.failures, whole.revision) == ("completed", 2, 1, 1, 1)
    assert (whole.span_id, whole.trace_id, whole.start_time_ns) == (early.span_id, early.trace_id, early.start_time_ns)
    assert [said.text for said in whole.human] == [said.text for said in early.human] == [words.strip()]
    assert play.tracker.close_idle(NOW_NS * 2, 0) == []


def test_a_turn_closed_by_silence_is_not_told_again_without_need() -> None:
    """The person went on, and the calls that were open are told as late as they came: only then it has more in it."""
    play = Play().say(user("one"))
    play.ask("half", stop="max_tokens")
    play.tracker.close_idle(NOW_NS, 0)
    assert ends(play.say(user("two")).ask(call("t1", "make"))) == []
    play.tracker.close_idle(NOW_NS * 2, 0)
    observed = play.say(user(result("t1", "ok"), "[Request interrupted by user]", "three")).ask(call("t2", "ls"))

    assert [(turn.turn_index, turn.end, turn.tool_calls, turn.revision) for turn in observed.observation.turns] == [
        (1, "interrupted", 1, 1)
    ]


def test_a_completed_turn_that_goes_on_is_told_again() -> None:
    """A hook that sends the model back to work is no person's word, and begins no turn."""
    play = Play().say(user("go"))
    first = play.ask("Done.")
    feedback = "Stop hook feedback:\nThe tests were not run."
    second = play.say(user(feedback)).ask(call("t1", "pytest"))
    third = play.say(user(result("t1", "ok"))).ask("Now done.")
    told = [turn for one in (first, second, third) for turn in one.observation.turns]

    assert [(turn.end, turn.inferences, turn.tool_calls, turn.revision) for turn in told] == [
        ("completed", 1, 0, 0),
        ("completed", 3, 1, 1),
    ]
    assert len({turn.span_id for turn in told}) == 1


def test_a_turn_whose_words_are_gone_is_not_told_without_them() -> None:
    """After a restart and a compaction nothing says them any more; what was told stays."""
    play = Play().say(user("build it"))
    play.ask(call("t1", "make"))
    play.tracker.close_idle(NOW_NS + WORKING_NS, 0)
    restarted(play)
    play.messages = [user("This session is being continued from a previous conversation. We build it.")]

    assert ends(play.ask("Done.", headers={"x-claude-code-context-compacted": "auto"})) == []
    assert play.tracker.close_idle(NOW_NS * 2, 0) == []
