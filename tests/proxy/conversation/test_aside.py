"""Calls on the side."""

from spanlore.genai.inference import CallClass
from support.conversing import Play, user
from support.other_agents import OtherAgent


def test_a_failed_side_call_that_is_repeated_is_the_next_attempt() -> None:
    """The same body twice without an error in between is another call."""
    play = Play(request_class="auxiliary").say(user("title please"))
    attempts = [play.fail(), play.again(play.exchanges[0]), play.again(play.exchanges[0])]
    play.ask("ok")
    calls = [play.again(play.exchanges[1]), play.again(play.exchanges[1])]

    assert [observed.observation.place.attempt for observed in attempts] == [1, 2, 3]
    assert [observed.observation.place.attempt for observed in calls] == [1, 1]


def test_a_side_calls_prompt_is_told_once() -> None:
    """Its own, whatever the main conversation has told."""
    play = Play(request_class="auxiliary")
    told = [bool(play.say(user(str(n))).ask("ok").inference.system) for n in range(3)]

    assert told == [True, False, False]


def test_counting_tokens_tells_no_history() -> None:
    """The messages are those of the main conversation, sent only to be counted."""
    observed = Play().say(user("go")).exchange(b'{"input_tokens": 5}', path="/v1/messages/count_tokens")

    assert observed.observation.place.call_class is CallClass.COUNT_TOKENS
    assert observed.inference.new_messages == () and observed.inference.usage.input_tokens == 5


def test_a_side_call_over_the_main_history_tells_only_what_it_adds() -> None:
    """Some side calls carry the whole conversation and one question."""
    play = Play().say(user("go"))
    play.ask("done")
    side = Play(tracker=play.tracker, request_class="auxiliary", messages=[*play.messages, user("suggest a prompt")])
    observed = side.ask("ok")

    assert observed.inference.new_from == 2 and len(observed.inference.new_messages) == 1


def test_a_summary_of_an_unknown_conversation_stands_alone() -> None:
    """The tracker came too late to know what is summarised."""
    observed = Play(request_class="compaction").say(user("CRITICAL: Respond with TEXT ONLY")).ask("summary")

    assert observed.observation.place.call_class is CallClass.COMPACTION
    assert observed.observation.place.turn_span_id == b""


def test_a_nameless_call_belongs_to_the_session_that_its_process_named() -> None:
    """Codex's TUI asks for a title in a session of its own, before the first answer of the real one is there; what
    another run named last is nothing to it."""
    named = {"session-id": "s-1", "thread-id": "t-1", "x-codex-turn-metadata": '{"request_kind":"prewarm"}'}
    agent = OtherAgent("codex", headers=named)
    agent.responses([{"role": "user", "content": "hi"}], generate=False)
    agent.headers = {"session-id": "s-2", "x-codex-turn-metadata": '{"thread_source":"thread_title"}'}
    title = agent.responses([{"role": "user", "content": "Generate a title: hi"}])
    agent.run_id = "run-ffffffffffff"
    elsewhere = agent.responses([{"role": "user", "content": "Generate a title: hi"}])

    assert (title.observation.place.session_id, title.observation.place.session_inferred) == ("s-1", False)
    assert title.observation.place.call_class is CallClass.TITLE and not title.observation.human
    assert elsewhere.observation.place.session_id != "s-1" and elsewhere.observation.place.session_inferred
