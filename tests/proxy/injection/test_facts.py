"""What is read from a request."""

from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.facts import RequestFacts, conversation_key, is_bypassed, read_facts
from spanlore_proxy.injection.ledger import Entry, Placement, PlacementKind
from spanlore_proxy.injection.wording import session_block
from spanlore_proxy.wire.anthropic import message_digest, parse_request
from spanlore_proxy.wire.codecs import read_request
from support.agent_talks import TALKS, AnyTalk, ResponsesTalk
from support.conversing import user
from support.injecting import NOW_NS, OUTPUT, SCOPE, WORKPLACE, Talk, failure_trigger, make_memory, who

ANY = frozenset({""})
SUMMARY = "This session is being continued from a previous conversation that ran out of context. Summary: …"


def read(
    talk: Talk, entry: Entry | None = None, identity: Identity | None = None, programs: frozenset[str] = ANY
) -> RequestFacts:
    """The facts of the talk's next request."""
    return read_facts(
        parse_request(talk.body()),
        identity or who(),
        WORKPLACE,
        conversation="00",
        entry=entry,
        programs=programs,
    )


def test_opening_and_answered_are_told_apart() -> None:
    """Until the model has spoken a conversation is in its opening, whose texts are what the client itself says."""
    talk = Talk()
    talk.ask("hello")
    opening = read(talk)
    talk.say("hi")
    talk.ask("more")
    later = read(talk)

    assert (opening.has_answer, opening.opening_texts) == (False, ("hello",))
    assert (later.has_answer, later.opening_texts) == (True, ("hello",))
    assert later.system_texts == ("You are an agent.",)
    assert later.has_tools


def test_a_failing_result_of_the_newest_message_is_found() -> None:
    """With its signature, and where it stands."""
    talk = Talk()
    talk.ask("run it")
    talk.fail()
    (failure,) = read(talk).failures
    trigger = failure_trigger()

    assert failure.tool_use_id == "toolu_1"
    assert (failure.signature, failure.program, failure.error_class) == (
        trigger.signatures[0],
        trigger.program,
        trigger.error_class,
    )
    assert failure.anchor.message_index == 2
    assert failure.anchor.message_digest == message_digest(talk.messages[2]).hex()


def test_a_message_of_role_system_behind_it_does_not_hide_it() -> None:
    """Claude Code puts reminders of role system behind the user's message."""
    talk = Talk()
    talk.ask("run it")
    talk.fail()
    talk.messages.append({"role": "system", "content": "Today's date is …"})

    assert len(read(talk).failures) == 1


def _success(talk: Talk) -> None:
    talk.run("ok")


def _older(talk: Talk) -> None:
    talk.fail()
    talk.say("I see")
    talk.ask("go on")


def _prefilled(talk: Talk) -> None:
    talk.fail()
    talk.say("The")


def _orphaned(talk: Talk) -> None:
    talk.fail()
    del talk.messages[-2]


def _plain(talk: Talk) -> None:
    talk.messages.append({"role": "user", "content": "text only"})


@pytest.mark.parametrize("play", [_success, _older, _prefilled, _orphaned, _plain])
def test_nothing_else_is_a_failure_to_answer(play: Any) -> None:
    """Not a success, an older failure, one the model is already answering, one without its call, or plain text."""
    talk = Talk()
    talk.ask("run it")
    play(talk)

    assert read(talk).failures == ()


def test_failures_are_not_looked_for_in_vain() -> None:
    """Where nothing could answer them, or not those of this program, they are not read at all."""
    talk = Talk()
    talk.ask("run it")
    talk.fail()

    assert read(talk, programs=frozenset()).failures == ()
    assert read(talk, programs=frozenset({"git", "Bash"})).failures == ()
    assert len(read(talk, programs=frozenset({"git", "pytest"})).failures) == 1


def test_every_failure_of_parallel_tools_is_found() -> None:
    """Results in one message share its place."""
    talk = Talk()
    talk.ask("run both")
    talk.fail()
    talk.fail()
    calls, results = talk.messages[1::2], talk.messages[2::2]
    talk.messages[1:] = [
        {"role": "assistant", "content": [block for message in calls for block in message["content"]]},
        {"role": "user", "content": [block for message in results for block in message["content"]]},
    ]
    found = read(talk).failures

    assert [failure.tool_use_id for failure in found] == ["toolu_1", "toolu_2"]
    assert {failure.anchor.message_index for failure in found} == {2}


def test_anchors_of_known_hints_are_found_where_they_stand_now() -> None:
    """Only those the ledger asks for, with the message's present digest."""
    talk = Talk()
    talk.ask("run it")
    for _ in range(3):
        talk.fail()
    hint = Placement(PlacementKind.FAILURE_HINT, "toolu_2", "h", ())
    gone = Placement(PlacementKind.FAILURE_HINT, "toolu_9", "h", ())
    anchors = read(talk, Entry("00", placements=(hint, gone))).anchors

    assert list(anchors) == ["toolu_2"]
    assert anchors["toolu_2"].message_index == 4


def test_anchors_are_found_where_they_moved_to() -> None:
    """A client that cuts old turns off moves what is left; the place of before is only tried first."""
    talk = Talk()
    talk.ask("run it")
    for _ in range(3):
        talk.fail()
    (failure,) = read(talk).failures
    at = failure.anchor
    hint = Placement(PlacementKind.FAILURE_HINT, "toolu_3", "h", (), at.message_digest, at.message_index)
    stayed = read(talk, Entry("00", placements=(hint,))).anchors["toolu_3"]
    del talk.messages[1:3]
    moved = read(talk, Entry("00", placements=(hint,))).anchors["toolu_3"]

    assert (stayed.message_index, moved.message_index) == (6, 4)
    assert stayed.message_digest == moved.message_digest == hint.message_digest


def test_the_summary_names_the_epoch() -> None:
    """It stays in every later request, so the epoch does; another summary is another epoch."""
    talk = Talk()
    assert read(talk).epoch == ""
    talk.ask(SUMMARY)
    first = read(talk).epoch
    talk.say("on it")
    talk.ask("go on")

    assert first
    assert read(talk).epoch == first
    talk.messages[0] = {"role": "user", "content": SUMMARY + " again"}
    assert read(talk).epoch not in ("", first)


def test_without_a_known_summary_the_header_names_the_epoch() -> None:
    """The client says it has compacted; without its saying so, a first message is just that."""
    talk = Talk()
    talk.ask("condensed: …")

    assert read(talk, identity=who(is_compacted=True)).epoch
    assert read(talk).epoch == ""


def test_a_block_of_ours_in_the_clients_own_prompt_is_seen() -> None:
    """What `spanlore run` handed to the client comes back as the client's text."""
    memory = make_memory()
    talk = Talk(system=[{"type": "text", "text": "head\n" + session_block([memory], SCOPE, NOW_NS)}])

    assert read(talk).client_memory_ids == (memory.id,)


def test_key_is_the_clients_session_and_agent() -> None:
    """History does not matter where the client names its session; a sub-agent is another conversation."""
    talk, other = Talk(), Talk()
    first = parse_request(talk.ask("a"))
    second = parse_request(other.ask("b"))

    assert conversation_key(first, who(), WORKPLACE) == conversation_key(second, who(), WORKPLACE)
    assert conversation_key(first, who(agent_key="a1"), WORKPLACE) != conversation_key(first, who(), WORKPLACE)


def test_key_without_a_session_passes_reminders_over() -> None:
    """OpenClaw puts its own state behind the prompt, and behind the newest result in the next request."""
    state = user("<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nnone\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>")
    said, answer = user("[Mon 2026-11-30 11:26 UTC] fix it"), {"role": "assistant", "content": "Ok."}
    requests = [{"model": "m", "messages": messages} for messages in ([said, state], [said, answer, state])]
    first, later = (
        conversation_key(parse_request(orjson.dumps(one)), Identity(harness="openclaw"), WORKPLACE) for one in requests
    )

    assert first == later


def test_key_without_a_session_is_run_and_opening() -> None:
    """It stays through the conversation, and differs between runs and between openings."""
    nobody = who(session_id=None)
    talk = Talk()
    opening = conversation_key(parse_request(talk.ask("a")), nobody, WORKPLACE)
    talk.run("ok")
    later = conversation_key(parse_request(talk.body()), nobody, WORKPLACE)
    talk.messages[0] = {"role": "user", "content": "a"}  # clients turn lists into strings
    collapsed = conversation_key(parse_request(talk.body()), nobody, WORKPLACE)
    elsewhere = conversation_key(parse_request(talk.body()), nobody, Workplace(run_id="run-2", repository=SCOPE))
    other = conversation_key(parse_request(Talk().ask("b")), nobody, WORKPLACE)

    assert opening == later == collapsed
    assert len({opening, elsewhere, other}) == 3


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((), False),
        ((("x-spanlore-bypass", "1"),), True),
        ((("X-Spanlore-Bypass", "true"),), True),
        ((("x-spanlore-bypass", "0"),), False),
        ((("x-spanlore-bypass", ""),), False),
        ((("x-other", "1"),), False),
    ],
)
def test_bypass_is_asked_for_by_header(headers: tuple[tuple[str, str], ...], expected: bool) -> None:
    """Any value but an empty, 0 or false one."""
    assert is_bypassed(headers) is expected


@pytest.mark.parametrize(
    "message",
    [{}, {"role": "user", "content": [3, None, {"type": "tool_result"}]}, {"role": "user", "content": {"a": 1}}],
)
def test_odd_messages_are_no_trouble(message: dict[str, Any]) -> None:
    """What is not understood holds no facts and raises nothing."""
    body = orjson.dumps({"messages": [message], "system": [{"type": "text"}, 3], "tools": []})
    facts = read_facts(
        parse_request(body), who(CallClass.SUBAGENT), WORKPLACE, conversation="00", entry=None, programs=ANY
    )

    assert facts.failures == ()
    assert facts.system_texts == ()
    assert OUTPUT not in facts.opening_texts


# --- every dialect ---------------------------------------------------------------------------------------------------


def read_any(talk: AnyTalk, entry: Entry | None = None) -> RequestFacts:
    """The facts of any client's next request."""
    request = read_request(talk.body(), talk.endpoint)
    identity = Identity(session_id="s", harness=talk.harness, call_class=CallClass.MAIN)
    return read_facts(request, identity, WORKPLACE, conversation="00", entry=entry, programs=ANY)


@pytest.mark.parametrize("name", TALKS)
def test_opening_texts_are_read_in_every_dialect(name: str) -> None:
    """The system prompt, and what stands before the first answer."""
    talk = TALKS[name]()
    talk.ask("hello")
    opening = read_any(talk)
    talk.say("hi")
    talk.ask("more")
    later = read_any(talk)

    assert opening.system_texts == later.system_texts == ("You are an agent.",)
    assert opening.opening_texts == later.opening_texts == ("hello",)
    assert (opening.has_answer, later.has_answer, later.has_tools) == (False, True, True)


@pytest.mark.parametrize("name", TALKS)
def test_the_same_failure_has_the_same_signature_in_every_dialect(name: str) -> None:
    """However the agent's tool is called and prints its exit code; what was learned with one agent serves another."""
    talk = TALKS[name]()
    talk.ask("run it")
    talk.run()
    succeeded = read_any(talk).failures
    talk.fail()
    (failure,) = read_any(talk).failures
    trigger = failure_trigger()

    assert succeeded == ()
    assert (failure.signature, failure.program) == (trigger.signatures[0], trigger.program)
    assert failure.error_class == trigger.error_class


@pytest.mark.parametrize("name", TALKS)
def test_anchors_are_found_in_every_dialect(name: str) -> None:
    """By the call's id, also where the wire has none (Gemini), with the digest of the message that holds the result."""
    talk = TALKS[name]()
    talk.ask("run it")
    talk.fail()
    (failure,) = read_any(talk).failures
    talk.run()
    talk.say("done")
    talk.ask("more")
    hint = Placement(PlacementKind.FAILURE_HINT, failure.tool_use_id, "h", ())
    facts = read_any(talk, Entry("00", placements=(hint,)))

    assert facts.anchors == {failure.tool_use_id: failure.anchor}
    assert facts.failures == ()


@pytest.mark.parametrize("name", TALKS)
def test_texts_behind_a_result_do_not_hide_it(name: str) -> None:
    """What a client adds after the results (a reminder, the user's next words) is no answer to them."""
    talk = TALKS[name]()
    talk.ask("run it")
    talk.fail()
    talk.ask("and hurry")

    assert len(read_any(talk).failures) == 1


def test_a_late_failure_is_the_commands_own() -> None:
    """Codex tells how a slow command ended under another call; its signature is that of the command."""
    talk = ResponsesTalk()
    talk.ask("run it")
    talk.run()
    talk.items[-1]["output"] = "Wall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n"
    talk.fail()
    talk.items[-2] |= {"name": "write_stdin", "arguments": '{"session_id":7,"chars":""}'}
    (failure,) = read_any(talk).failures

    assert failure.signature == failure_trigger().signatures[0]
    assert failure.tool_use_id == "c2"


def test_a_compaction_item_names_the_epoch() -> None:
    """Codex's summary is an item of its own, encrypted."""
    talk = ResponsesTalk()
    talk.ask("hello")
    before = read_any(talk).epoch
    talk.items.append({"type": "compaction", "encrypted_content": "x"})
    after = read_any(talk).epoch
    talk.run()

    assert (before, bool(after)) == ("", True)
    assert read_any(talk).epoch == after


def test_a_history_that_the_provider_holds_is_told() -> None:
    """What is on the wire is not all there is."""
    talk = ResponsesTalk(extra={"previous_response_id": "r1"})
    talk.ask("more")

    assert read_any(talk).is_continued
    assert not read_any(ResponsesTalk(items=talk.items)).is_continued


def test_what_aider_made_up_is_no_answer() -> None:
    """Its examples and its map of the repository come before the person's first words; and the key stays, though the
    map is another one and the files have moved."""
    shown = {"role": "user", "content": "Here are summaries of some files present in my git repository.\na.py"}
    other = {"role": "user", "content": "Here are summaries of some files present in my git repository.\nb.py"}
    files = [
        {"role": "user", "content": "I have *added these files to the chat* so you can go ahead.\na.py"},
        {"role": "assistant", "content": "Ok, any changes I propose will be to those files."},
    ]
    ok, prompt = {"role": "assistant", "content": "Ok."}, {"role": "user", "content": "fix it"}
    nobody = Identity(harness="aider", call_class=CallClass.MAIN)
    endpoint = TALKS["chat"]().endpoint

    def facts(*messages: dict[str, Any]) -> RequestFacts:
        request = read_request(orjson.dumps({"model": "m", "messages": messages}), endpoint)
        key = conversation_key(request, nobody, WORKPLACE)
        return read_facts(request, nobody, WORKPLACE, conversation=key, entry=None, programs=ANY)

    opening = facts(shown, ok, *files, prompt)
    later = facts(
        other, ok, prompt, {"role": "assistant", "content": "Fixed."}, *files, {"role": "user", "content": "x"}
    )

    assert (opening.has_answer, later.has_answer) == (False, True)
    assert opening.conversation == later.conversation != facts(shown, ok, {**prompt, "content": "other"}).conversation
    assert opening.opening_texts[-1] == "fix it"
