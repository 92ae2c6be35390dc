"""The tracker, on sessions as Claude Code plays them."""

import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.genai.inference import CallClass
from spanlore.semconv import gen_ai, lore
from spanlore.spans.ids import conversation_id_of, tool_span_id
from spanlore.spans.place import Workplace
from spanlore.spans.record import SpanRecord
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.tracker import (
    ConversationState,
    Tracker,
    state_from_json,
    state_to_json,
)
from spanlore_proxy.wire.exchange import End
from spanlore_proxy.wire.response import WireResponse
from support.conversing import (
    REMINDER,
    SECOND_NS,
    START_NS,
    WORKPLACE,
    Play,
    assistant,
    call,
    ends,
    observe,
    outcomes,
    place,
    result,
    said,
    spans,
    user,
)
from support.other_agents import OtherAgent

QUEUED = (
    "<system-reminder>\nThe user sent a new message while you were working:\nalso run lint\n\n"
    "This is how Claude Code surfaces messages the user sends mid-turn\n</system-reminder>"
)
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse uv"
    "\n\nNote: The user's next message may contain a correction or preference. Pay close attention"
)
STOPPED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


def line(span: SpanRecord) -> str:
    """A span in one line: name, parent by name later, seconds from the start, and what it is about."""
    begin, end = (t // SECOND_NS - START_NS // SECOND_NS for t in (span.start_time_ns, span.end_time_ns))
    words = [
        str(span.attributes[key])
        for key in (lore.OUTCOME, lore.OUTCOME_REASON, lore.PROGRAM, lore.TURN_END, lore.CALL_CLASS, gen_ai.ERROR_TYPE)
        if key in span.attributes
    ]
    where = f"t{span.attributes[lore.TURN]} s{span.attributes[lore.STEP]}"
    return f"{span.name} {begin}-{end} {where} {' '.join(words)}"


def on_disk(play: Play) -> list[ConversationState]:
    """The states that capture has saved."""
    return [state_from_json(state_to_json(state)) for state in play.tracker._states.values()]


def script(play: Play) -> list[SpanRecord]:
    """Twelve requests: a retry, a failure and its fix, a rejection, parallel tools, an interruption, a side call."""
    told: list[SpanRecord] = []
    play.say(user(REMINDER, "run the tests"))
    told += spans(play.fail())  # 1: overloaded
    told += spans(play.again(play.exchanges[0]))  # 2: the very same body, and again no luck
    told += spans(play.ask("Running.", call("t1", "pytest -q")))  # 3
    title = Play(tracker=play.tracker, request_class="auxiliary", now_s=play.now_s)
    title.say(user("run the tests"))
    schema = {"format": {"type": "json_schema", "schema": {"properties": {"title": {}}}}}
    told += spans(title.ask('{"title": "Tests"}', changes={"tools": [], "output_config": schema}))  # 4: on the side
    play.now_s = title.now_s
    play.say(user(result("t1", "Exit code 127\nbash: pytest: command not found", is_error=True)))
    told += spans(play.ask(call("t2", "uv run pytest -q"), call("t3", "grep -rn foo src")))  # 5: parallel
    play.say(user(result("t2", "3 passed"), result("t3", "Exit code 1", is_error=True)))
    told += spans(play.ask("All pass."))  # 6: the turn is over
    play.say(user("now bump the version"))
    told += spans(play.ask(call("t4", "npm version 2")))  # 7
    play.say(user(result("t4", REJECTED, is_error=True)))
    told += spans(play.ask(call("t5", "uv version 2"), call("t6", "git push")))  # 8
    play.say(
        user(
            result("t5", STOPPED, is_error=True),
            result("t6", "<tool_use_error>Sibling tool call errored</tool_use_error>", is_error=True),
            "[Request interrupted by user for tool use]",
            "leave the version alone",
        )
    )
    told += spans(play.ask(call("t7", "git checkout -- pyproject.toml")))  # 9: another turn
    play.say(user(result("t7", ""), QUEUED))
    told += spans(play.ask(call("t8", "ruff check | tail -3")))  # 10
    play.say(user(result("t8", "All checks passed!")))
    told += spans(play.exchange(b"", status=None, end=End.CLIENT_GONE))  # 11: the user stopped it
    play.say(user("[Request interrupted by user]", "thanks"))
    told += spans(play.ask("You are welcome."))  # 12
    return told


def test_a_session_of_twelve_requests_gives_this_tree() -> None:
    """Every new thing is one span, under its turn, with honest times; nothing is told twice."""
    told = script(Play())

    assert [line(span) for span in told] == [
        "chat claude-sonnet-4-5 1-3 t0 s0 main overloaded_error",
        "chat claude-sonnet-4-5 4-6 t0 s0 main overloaded_error",
        "chat claude-sonnet-4-5 7-9 t0 s0 main",
        "chat claude-sonnet-4-5 10-12 t0 s0 title",
        "execute_tool Bash 9-13 t0 s0 failure exit_code pytest main command_not_found",
        "chat claude-sonnet-4-5 13-15 t0 s1 main",
        "invoke_agent claude-code 1-18 t0 s2 completed main",
        "execute_tool Bash 15-16 t0 s1 success pytest main",
        "execute_tool Bash 15-16 t0 s1 success benign_exit grep main",
        "chat claude-sonnet-4-5 16-18 t0 s2 main",
        "chat claude-sonnet-4-5 19-21 t1 s3 main",
        "execute_tool Bash 21-22 t1 s3 rejected user_rejected npm main",
        "chat claude-sonnet-4-5 22-24 t1 s4 main",
        "invoke_agent claude-code 19-25 t1 s5 interrupted main",
        "execute_tool Bash 24-25 t1 s4 rejected user_rejected uv main",
        "execute_tool Bash 24-25 t1 s4 unknown cascade git main",
        "chat claude-sonnet-4-5 25-27 t2 s5 main",
        "execute_tool Bash 27-28 t2 s5 success git main",
        "chat claude-sonnet-4-5 28-30 t2 s6 main",
        "execute_tool Bash 30-31 t2 s6 unknown pipeline ruff main",
        "chat claude-sonnet-4-5 31-33 t2 s7 main client_gone",
        "invoke_agent claude-code 25-33 t2 s7 interrupted main",
        "invoke_agent claude-code 34-36 t3 s7 completed main",
        "chat claude-sonnet-4-5 34-36 t3 s7 main",
    ]
    by_id = {span.span_id: span for span in told}
    assert len(by_id) == len(told)
    for span in told:
        if span.parent_span_id is not None:
            parent = by_id[span.parent_span_id]
            assert parent.name == "invoke_agent claude-code"
            assert parent.trace_id == span.trace_id
            assert parent.start_time_ns <= span.start_time_ns <= span.end_time_ns <= parent.end_time_ns


def test_what_a_person_said_stands_on_the_span_that_carried_it() -> None:
    """Prompts, a reason for a refusal and words typed mid-turn are told once each, with their channel."""
    told = [span.attributes[lore.HUMAN_TEXT] for span in script(Play()) if lore.HUMAN_TEXT in span.attributes]

    assert told == [
        '[{"channel":"user_message","text":"run the tests"}]',
        '[{"channel":"user_message","text":"now bump the version"}]',
        '[{"channel":"rejection_reason","text":"use uv"}]',
        '[{"channel":"user_message","text":"leave the version alone"}]',
        '[{"channel":"queued","text":"also run lint"}]',
        '[{"channel":"user_message","text":"thanks"}]',
    ]


def test_prompts_and_tools_are_sent_once() -> None:
    """System prompt and tool list are told with the first call only, by hash afterwards; the changing first block of
    Claude Code's system prompt makes no difference."""
    chats = [span for span in script(Play()) if span.name.startswith("chat")]
    main = [span for span in chats if span.attributes[lore.CALL_CLASS] == "main"]

    assert [gen_ai.SYSTEM_INSTRUCTIONS in span.attributes for span in main] == [True] + [False] * 10
    assert [gen_ai.TOOL_DEFINITIONS in span.attributes for span in main] == [True] + [False] * 10
    assert len({span.attributes[lore.SYSTEM_HASH] for span in main}) == 1
    assert "cch=" not in str(main[0].attributes[gen_ai.SYSTEM_INSTRUCTIONS])


def test_only_what_is_new_is_told() -> None:
    """Each message of the client is told with the first request that carries it, the model's never as input."""
    told: list[str] = []
    play = Play()
    for number in range(4):
        play.say(user(f"prompt {number}"))
        observed = play.ask(f"answer {number}")
        told += [part.content for m in observed.inference.new_messages for part in m.parts]  # type: ignore[union-attr]

        assert observed.inference.new_from == 2 * number
        assert observed.inference.message_count == 2 * number + 1

    assert told == [f"prompt {number}" for number in range(4)]


def test_string_and_list_content_are_one_message() -> None:
    """Claude Code sends a message as a list while it carries the cache breakpoint, and as a string later."""
    play = Play().say(user("go"))
    play.messages[0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    play.ask("yes")
    play.messages[0] = {"role": "user", "content": "go"}
    observed = play.say(user("more")).ask("ok")

    assert observed.inference.new_from == 2


@pytest.mark.parametrize("restored", [True, False], ids=["restored", "without-state"])
def test_a_restarted_tracker_gives_the_same_ids(restored: bool) -> None:
    """The last exchange of a session, observed by another tracker, gives the same spans: byte for byte when it has the
    state, and the same tool calls and turns under the same ids when it has not."""
    play = Play().say(user(REMINDER, "first"))
    play.ask("ok", call("t1", "ls"))
    play.say(user(result("t1", "x"))).ask("done")
    play.say(user("second")).ask(call("t2", "make"))
    states = on_disk(play)
    last = play.say(user(result("t2", "Exit code 2\nmake: *** no rule", is_error=True))).ask("It failed.")

    other = Tracker()
    if restored:
        other.restore(states)
    again = observe(other, play.exchanges[-1])

    assert [t.span_id for t in again.observation.turns] == [t.span_id for t in last.observation.turns]
    assert [s.span_id for s in spans(again)] == [s.span_id for s in spans(last)]
    assert [s.trace_id for s in spans(again)] == [s.trace_id for s in spans(last)]
    assert [s.parent_span_id for s in spans(again)] == [s.parent_span_id for s in spans(last)]
    assert again.observation.place == last.observation.place
    assert outcomes(again) == outcomes(last) == [("t2", "failure", "exit_code")]
    if restored:
        assert again.inference == last.inference
        assert again.observation.tools == last.observation.tools


def test_a_resumed_session_after_a_restart_tells_nothing_again() -> None:
    """The state on disk is enough to go on: a new prompt is all that is new, though the reminder has another date."""
    play = Play().say(user("<system-reminder>\nToday is Monday\n</system-reminder>", "first"))
    play.ask("done")
    other = Tracker()
    other.restore(on_disk(play))
    resumed = replace(play, tracker=other)
    resumed.messages[0] = user("<system-reminder>\nToday is Tuesday\n</system-reminder>", "first")
    observed = resumed.say(user("second")).ask("ok")

    assert said(observed) == [("user_message", "second")]
    assert observed.inference.new_from == 2
    assert place(observed) == (1, 1, 1)


@pytest.mark.parametrize("is_over", [True, False], ids=["ends", "left"])
def test_a_turn_that_a_restart_splits_keeps_its_words(*, is_over: bool) -> None:
    """What was typed is in no state, so the new tracker reads it from the history, once; also where the person has
    gone on in the meantime. What was typed since comes behind it."""
    play = Play().say(user(REMINDER, "first"))
    play.ask(call("t1", "ls"))
    play.tracker, states = Tracker(), on_disk(play)
    play.tracker.restore(states)
    if is_over:
        play.say(user(result("t1", "x"), "and quickly")).ask(call("t2", "ls"))
        observed = play.say(user(result("t2", "x"))).ask("done")
    else:
        observed = play.say(user(result("t1", "x"), "[Request interrupted by user]", "second")).ask(call("t2", "ls"))
    (turn,) = observed.observation.turns

    assert (turn.turn_index, turn.tool_calls) == (0, 2 if is_over else 1)
    assert [human.text for human in turn.human] == (["first", "and quickly"] if is_over else ["first"])


@pytest.mark.parametrize("by_header", [True, False], ids=["header", "summary-text"])
def test_compaction_keeps_session_and_conversation(by_header: bool) -> None:
    """A summary in place of the history: same session and conversation, marked; the turn that was going on goes on, and
    the tools that only the summariser's request answered are told with it."""
    play = Play().say(user("build it"))
    play.ask(call("t1", "make"))
    play.say(user(result("t1", "ok"))).ask(call("t2", "make test"))
    summary = replace(play, request_class="compaction")
    summary.messages = [
        *play.messages,
        user(result("t2", "Exit code 1", is_error=True), "CRITICAL: Respond with TEXT ONLY"),
    ]
    during = summary.ask("The summary.")
    text_ = "This session is being continued from a previous conversation that ran out of context. Summary: ..."
    play = replace(play, now_s=summary.now_s, messages=[user(REMINDER, text_)])
    after = play.ask("done", headers={"x-claude-code-context-compacted": "auto"} if by_header else {})
    later = play.say(user("thanks")).ask("welcome")

    assert during.observation.place.call_class is CallClass.COMPACTION
    assert outcomes(during) == [("t2", "failure", "exit_code")]
    assert after.observation.place.is_compacted and not later.observation.place.is_compacted
    assert after.observation.place.conversation == during.observation.place.conversation
    assert [place(o)[:2] for o in (after, later)] == [(0, 2), (1, 3)]
    assert ends(after) == [(0, "completed")]
    assert (after.observation.turns[0].tool_calls, after.observation.turns[0].failures) == (2, 1)
    assert said(after) == [] and said(later) == [("user_message", "thanks")]


def test_a_subagent_hangs_under_the_call_that_started_it() -> None:
    """Same session, its own conversation, the trace of its parent's turn, and no words of a person."""
    play = Play().say(user("look around"))
    launch = play.ask(call("t1", name="Agent", prompt="Find all tests.", subagent_type="Explore"))
    agent = Play(tracker=play.tracker, agent="a0123456789abcdef", request_class="subagent", now_s=play.now_s)
    begun = agent.say(user(REMINDER, "Find all tests.")).ask(call("s1", "ls"))
    play.now_s = agent.now_s
    play.say(user(result("t1", "Async agent launched successfully.\nagentId: a0123456789abcdef"))).ask("waiting")
    done = agent.say(user(result("s1", "tests/"))).ask("In tests/.")

    where, parent = begun.observation.place, launch.observation.place
    assert where.call_class is CallClass.SUBAGENT
    assert where.session_id == parent.session_id and where.conversation != parent.conversation
    assert where.parent_conversation == parent.conversation
    assert where.parent_tool_span_id == tool_span_id(parent.conversation, "t1")
    assert where.trace_id == parent.trace_id
    turn = next(span for span in spans(done) if span.name.startswith("invoke_agent"))
    assert turn.parent_span_id == tool_span_id(parent.conversation, "t1") and turn.trace_id == parent.trace_id
    assert said(begun) == [] and ends(done) == [(0, "completed")]


def test_a_subagent_of_an_older_version_is_known_by_its_prompt() -> None:
    """Without agent headers the prompt of the launching call tells: the main conversation is not disturbed."""
    play = Play(request_class=None).say(user("look around"))
    play.ask(call("t1", name="Task", prompt="Find all tests.", subagent_type="Explore"))
    agent = replace(play, messages=[], calls=50)
    begun = agent.say(user(REMINDER, "Find all tests.")).ask(call("s1", "ls"))
    agent.say(user(result("s1", "tests/"))).ask("In tests/.")
    play.now_s = agent.now_s
    observed = play.say(user(result("t1", "In tests/."))).ask("They are in tests/.")

    assert begun.observation.place.call_class is CallClass.SUBAGENT
    assert begun.observation.place.parent_tool_span_id is not None
    assert place(observed) == (0, 1, 1)
    assert outcomes(observed) == [("t1", "success", "")]
    assert not observed.observation.place.is_compacted


@pytest.mark.parametrize(
    ("options", "path", "kind"),
    [
        ({"tools": [], "max_tokens": 1}, "/v1/messages", CallClass.PROBE),
        ({}, "/v1/messages/count_tokens", CallClass.COUNT_TOKENS),
        ({"tools": [], "max_tokens": 512}, "/v1/messages", CallClass.SIDE),
    ],
)
def test_side_calls_disturb_nothing(options: dict[str, object], path: str, kind: CallClass) -> None:
    """A side call is a trace of one span; the main conversation goes on as if it had not been."""
    play = Play(request_class=None).say(user("go"))
    main = play.ask(call("t1", "ls"))
    side = replace(play, messages=[user("go")])
    aside = side.ask("ok", changes=options, path=path)
    play.now_s = side.now_s
    observed = play.say(user(result("t1", "x"))).ask("done")

    where = aside.observation.place
    assert where.call_class is kind and where.session_id == main.observation.place.session_id
    assert where.conversation != main.observation.place.conversation
    assert [span.parent_span_id for span in spans(aside)] == [None]
    assert not aside.observation.human and not aside.observation.turns
    assert place(observed) == (0, 1, 1) and outcomes(observed) == [("t1", "success", "")]


def test_a_fork_points_to_where_it_came_from() -> None:
    """Another continuation of the same beginning, in the same session or in another: only what differs is new."""
    play = Play().say(user("one"))
    play.ask("first")
    play.say(user("two")).ask("second")
    other = replace(play, session="11111111-8f7a-4c55-9d3f-3a4f6f1f2a10", messages=[*play.messages], calls=80)
    forked = other.say(user("another way")).ask("ok")
    rewound = replace(play, messages=play.messages[:2], calls=90, now_s=other.now_s)
    branch = rewound.say(user("two, differently")).ask("ok")
    play.now_s = rewound.now_s
    onward = play.say(user("three")).ask("third")

    main = onward.observation.place.conversation
    assert forked.observation.place.parent_conversation == branch.observation.place.parent_conversation == main
    assert forked.inference.new_from == 4 and branch.inference.new_from == 2
    assert said(forked) == [("user_message", "another way")]
    assert said(branch) == [("user_message", "two, differently")]
    assert said(onward) == [("user_message", "three")] and onward.inference.new_from == 4


def test_clients_without_a_session_are_told_apart_by_their_chain() -> None:
    """The chain of messages makes the conversation; another run, or a second start with the same words, is another
    session."""
    play = Play(session=None, request_class=None, user_agent="litellm/1.0").say(user("Fix it."))
    first = play.ask(call("t1", "ls"))
    second = play.say(user(result("t1", "x"))).ask("done")
    fresh = replace(play, messages=[user("Fix it.")])
    again = fresh.ask(call("u1", "ls"))
    elsewhere = replace(fresh, messages=[user("Fix it.")], workplace=Workplace(run_id="run-2"))
    third = elsewhere.ask("ok")

    sessions = [o.observation.place.session_id for o in (first, second, again, third)]
    assert sessions[0] == sessions[1] and len(set(sessions)) == 3
    assert all(o.observation.place.session_inferred for o in (first, second, again, third))
    assert gen_ai.CONVERSATION_ID not in spans(first)[-1].attributes


def test_a_session_that_is_joined_in_the_middle() -> None:
    """The history is told as messages, but only its newest tools and words as events, and without a made-up length."""
    play = Play().say(user("one"), assistant(call("t0", "ls")), user(result("t0", "x")), assistant("done"))
    play.say(user("two"), assistant(call("t1", "make")))
    observed = play.say(user(result("t1", "ok"))).ask("made")

    (tool,) = observed.observation.tools
    assert (tool.call.id, tool.turn_index, tool.step_index) == ("t1", 1, 2)
    assert tool.start_time_ns == tool.end_time_ns
    assert len(observed.inference.new_messages) == 7
    assert place(observed) == (1, 3, 1) and said(observed) == []
    assert [human.text for human in observed.observation.turns[0].human] == ["two"]


def test_a_request_that_was_overtaken_moves_nothing() -> None:
    """An exchange that ends after a newer one of its conversation is told, and the chain stays where it is."""
    play = Play().say(user("one"))
    play.ask("first")
    early = play.exchanges[-1]
    play.say(user("two")).ask("second")
    late = observe(play.tracker, replace(early, end_time_ns=early.end_time_ns + 9 * SECOND_NS))
    onward = play.say(user("three")).ask("third")

    assert late.inference.new_messages == () and late.observation.turns == ()
    assert onward.inference.new_from == 4 and place(onward) == (2, 2, 1)


def test_an_overtaken_request_counts_in_its_turn() -> None:
    """While the turn is open: two answers arrive in the other order, and the turn still holds both."""
    play, ahead = Play().say(user("go")), Play()
    play.ask(call("t1", "ls"))
    first = play.exchanges[-1]
    play.say(user(result("t1", ""))).ask(call("t2", "ls"))
    tracker = ahead.tracker
    for exchange in (play.exchanges[1], first):
        observe(tracker, exchange)
    ahead.messages, ahead.now_s, ahead.calls = play.messages, play.now_s, play.calls
    (turn,) = ahead.say(user(result("t2", ""))).ask("done").observation.turns

    assert turn.inferences == 3


def test_a_turn_that_nobody_ends_is_closed_when_idle() -> None:
    """Once, with what was said in it, and after its state was restored as well."""
    play = Play().say(user("go"))
    play.ask("half an ans", stop="max_tokens")
    now = START_NS + 10_000 * SECOND_NS
    restored = Tracker()
    restored.restore(on_disk(play))

    assert play.tracker.close_idle(START_NS + 5 * SECOND_NS, 60 * SECOND_NS) == []
    (told,) = play.tracker.close_idle(now, 60 * SECOND_NS)
    where, workplace, (turn,) = told.place, told.workplace, told.turns
    assert (turn.end, turn.inferences, [h.text for h in turn.human]) == ("idle", 1, ["go"])
    assert workplace == WORKPLACE and where.conversation == on_disk(play)[0].conversation
    assert play.tracker.close_idle(now, 60 * SECOND_NS) == []
    assert [state.turn and state.turn.is_emitted for state in play.tracker.take_changed()] == [True]
    assert [one.turns[0].span_id for one in restored.close_idle(now, 60 * SECOND_NS)] == [turn.span_id]


def test_memory_is_bounded() -> None:
    """The conversations not used for longest are forgotten, with all that points to them."""
    tracker = Tracker(max_conversations=3)
    for number in range(6):
        Play(tracker=tracker, session=f"session-{number}").say(user("go")).ask("ok")

    assert len(tracker) == 3
    assert len(tracker._groups) == len(tracker._sessions) == 3


def test_a_body_that_could_not_be_parsed_is_told_as_a_call() -> None:
    """Nothing is known but that it happened."""
    play = Play().say(user("go"))
    play.ask("ok")
    observed = play.tracker.observe(play.exchanges[0], None, WireResponse(), Identity(session_id="s"), WORKPLACE)

    assert observed.inference.message_count == 0
    assert observed.observation.place.session_id == "s"


def test_no_text_of_anybody_is_in_a_state() -> None:
    """States lie on disk unredacted: hashes, ids and counts only."""
    play = Play().say(user("SECRET prompt"))
    observed = play.ask("SECRET answer", call("t1", "SECRET command"))
    (state,) = observed.changed

    assert "SECRET" not in state_to_json(state)


MOVES = st.lists(
    st.sampled_from(["prompt", "results", "fail", "side", "agent", "reminder", "restart", "rewind", "queued"]),
    max_size=14,
)


def key(span: SpanRecord) -> tuple[bytes, object]:
    return span.span_id, span.attributes.get(lore.TURN_REVISION)


@settings(deadline=None, max_examples=60)
@given(MOVES)
def test_no_span_is_told_twice_whatever_happens(moves: list[str]) -> None:
    """Any sequence of prompts, failures, side calls, sub-agents, restarts and rewinds gives each span id once, but
    for a turn that went on after its end: told again as another revision. Nothing ever raises."""
    play, ids, number = Play().say(user("start")), [], 0
    ids += [key(span) for span in spans(play.ask(call("t0", "ls")))]
    for move in moves:
        number += 1
        waiting = [b["id"] for b in play.messages[-1]["content"] if b["type"] == "tool_use"]
        results: list[dict[str, Any] | str] = [result(id_, "ok") for id_ in waiting]
        if move == "restart":
            other = Tracker()
            other.restore(on_disk(play))
            play.tracker = other
            continue
        if move == "side":
            side = replace(play, request_class="auxiliary", messages=[user("t")], calls=1000 + number)
            ids += [key(span) for span in spans(side.ask("t", changes={"tools": []}))]
            play.now_s = side.now_s
            continue
        if move == "agent":
            agent = Play(tracker=play.tracker, agent=f"a{number}", request_class="subagent", now_s=play.now_s)
            ids += [key(span) for span in spans(agent.say(user(f"task {number}")).ask("ok"))]
            play.now_s = agent.now_s
            continue
        if move == "rewind" and len(play.messages) > 4:
            play.messages = [*play.messages[:2], user(result("t0", "ok"), f"again {number}")]
        elif move == "reminder":
            play.say(user(*results, REMINDER))
        elif move == "queued":
            play.say(user(*results, f"while you work {number}"))
        else:
            play.say(user(*(results or [f"prompt {number}"])))
        observed = play.fail() if move == "fail" else play.ask(call(f"t{number}", "ls"))
        ids += [key(span) for span in spans(observed)]
        if move == "fail":
            ids += [key(span) for span in spans(play.ask("recovered"))]

    assert len(ids) == len(set(ids))


def test_observing_a_long_history_costs_little() -> None:
    """A request with 450 messages of which two are new: no message that is not new is decoded."""
    play = Play().say(user("go"))
    for number in range(224):
        play.say(assistant(call(f"t{number}", "ls")), user(result(f"t{number}", "x" * 2000)))
    play.ask(call("t900", "ls"))
    began_s = time.thread_time()
    observed = play.say(user(result("t900", "y"))).ask("done")

    assert len(observed.inference.new_messages) == 1
    assert time.thread_time() - began_s < 5  # a hang, not a benchmark


def test_conversation_ids_are_made_of_session_and_agent() -> None:
    """So that another observer of the same session finds the same."""
    where = Play().say(user("go")).ask("ok").observation.place

    assert where.conversation == conversation_id_of(where.session_id, "", "")


def test_the_request_itself_names_the_agent() -> None:
    """A run may be a shell or a wrapper: what the request says of its agent stands above the run's own word."""
    play = Play(workplace=Workplace(run_id="run-1", harness="unknown", repository="github.com/a/b"))
    observed = play.say(user("hello")).ask("Hello.")

    workplace = observed.observation.workplace
    assert (workplace.harness, workplace.harness_version) == ("claude-code", "2.1.332")
    assert workplace.repository == "github.com/a/b"


TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]


def test_a_call_without_tools_beside_a_main_one_serves_it() -> None:
    """A title asked for in the same run, by an agent of which nothing is known, joins the session as a side call, and
    its prompt is no turn."""
    agent = OtherAgent("unknown")
    start = [{"role": "user", "content": "Fix it."}]
    main = agent.chat(start, "I look.", tools=TOOLS)
    title = agent.chat([{"role": "user", "content": "Create a title. NEVER explain."}], "Fixing")
    after = agent.chat([*start, {"role": "assistant", "content": "I look."}, start[0]], "Done.", tools=TOOLS)

    assert title.observation.place.call_class is CallClass.SIDE
    assert {one.observation.place.session_id for one in (main, title, after)} == {main.observation.place.session_id}
    assert title.observation.turns == () and after.observation.place.turn_index == 1


def test_a_call_without_tools_may_be_main_itself() -> None:
    """Where the run has no conversation that offers tools, and where it goes on a conversation that had none."""
    agent = OtherAgent("unknown")
    talk = [{"role": "user", "content": "Just talk."}]
    first = agent.chat(talk, "Yes?")
    agent.chat([{"role": "user", "content": "Fix it."}], "I look.", tools=TOOLS)
    second = agent.chat([*talk, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "On."}], "Well.")

    assert first.observation.place.call_class is second.observation.place.call_class is CallClass.UNKNOWN
    assert first.observation.place.conversation == second.observation.place.conversation
