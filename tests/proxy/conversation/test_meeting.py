"""Which conversation a request belongs to."""

from dataclasses import replace

from support.conversing import Play, assistant, call, result, user


def test_two_agents_of_one_session_do_not_meet() -> None:
    """Interleaved requests each go on with their own chain."""
    play = Play().say(user("main"))
    play.ask(call("t1", "ls"))
    one = Play(tracker=play.tracker, agent="a1", request_class="subagent").say(user("one"))
    two = Play(tracker=play.tracker, agent="a2", request_class="subagent").say(user("two"))
    one.ask(call("x", "ls"))
    two.ask(call("y", "ls"))
    steps = [
        one.say(user(result("x", ""))).ask("1").observation.place,
        play.say(user(result("t1", ""))).ask("m").observation.place,
        two.say(user(result("y", ""))).ask("2").observation.place,
    ]

    assert len({place.conversation for place in steps}) == 3
    assert [place.step_index for place in steps] == [1, 1, 1]


def test_an_altered_history_is_recognised_by_the_tool_that_is_waited_for() -> None:
    """The client rewrote the model's message and what came before it: the pending call still names the place."""
    play = Play().say(user("go"))
    play.ask("thinking aloud", call("t1", "ls"))
    play.messages = [user("go, with more context"), assistant("rewritten", call("t1", "ls"))]
    observed = play.say(user(result("t1", "x"))).ask("done")

    assert observed.inference.new_from == 2 and observed.observation.place.step_index == 1


def test_an_unknown_prefix_is_a_conversation_of_its_own() -> None:
    """A call that looks like a main one and shares nothing with it leaves the main conversation alone."""
    play = Play(request_class=None).say(user("main"))
    first = play.ask(call("t1", "ls"))
    other = replace(play, messages=[user("some helper's question")], calls=70)
    strange = other.ask("answer")
    play.now_s = other.now_s
    second = play.say(user(result("t1", ""))).ask("done")

    assert strange.observation.place.conversation != first.observation.place.conversation
    assert second.observation.place.conversation == first.observation.place.conversation
    assert second.inference.new_from == 2


def test_a_client_that_names_the_call_it_continues_is_believed() -> None:
    """Two branches fit equally; the previous message's id tells which one goes on."""
    play = Play().say(user("one"))
    play.ask("a")
    left = replace(play, messages=[*play.messages, user("left")], calls=20)
    left_place = left.ask(call("l", "ls")).observation.place
    right = replace(play, messages=[*play.messages, user("right")], calls=40, now_s=left.now_s)
    right_place = right.ask(call("r", "ls")).observation.place
    named = {"diagnostics": {"previous_message_id": "msg_21"}}
    onward = left.say(user(result("l", ""))).ask("done", changes=named).observation.place

    assert left_place.conversation != right_place.conversation
    assert onward.conversation == left_place.conversation
