"""What goes into a request, played as a client sends it."""

import dataclasses
import itertools

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Memory, Status
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.injection.injector import Prepared, client_block
from spanlore_proxy.injection.ledger import Entry, Placement, PlacementKind
from spanlore_proxy.injection.policy import (
    MAX_CUT_NOTED,
    MAX_HINTS_PER_CONVERSATION,
    MAX_HINTS_PER_REQUEST,
    Placed,
    Plan,
)
from spanlore_proxy.injection.rewrite import without_insertions
from support.injecting import NOW_NS, SCOPE, Rig, Talk, failure_trigger, log_of, make_memory, system_of, who

FIX = make_memory("pytest", trigger=failure_trigger())
NEAR = make_memory("near", subject="pytest", trigger=dataclasses.replace(failure_trigger(), signatures=("0" * 16,)))
OTHER = "Exit code 4\nImportError while loading conftest: no module named in here"
"""The same program and class, another line."""
SUMMARY = "This session is being continued from a previous conversation that ran out of context. Summary: …"


def block_of(prepared: Prepared) -> str:
    """Our block at the end of the system prompt, '' when there is none."""
    last = system_of(prepared.body)[-1]["text"]
    return str(last) if last.startswith("<spanlore-memory") else ""


def hints_of(prepared: Prepared) -> list[tuple[int, str]]:
    """(message index, text) of the hints in the forwarded body."""
    messages = orjson.loads(prepared.body)["messages"]
    return [
        (index, block["text"])
        for index, message in enumerate(messages)
        for block in message["content"]
        if isinstance(block, dict) and str(block.get("text", "")).startswith("<spanlore-hint")
    ]


def notes_of(prepared: Prepared, state: str) -> list[tuple[str, str]]:
    """(kind, reason) of the log entries in that state."""
    return [(item["kind"], item.get("reason", "")) for item in log_of(prepared) if item["state"] == state]


def test_the_block_begins_with_what_the_opening_prompt_is_about() -> None:
    """Where the budget holds only some, those come in that the prompt speaks of, whatever came up last elsewhere."""
    text = "`python3 -m unittest discover -s {0}/tests` fails; `PYTHONPATH=src/{0} make check-{0}` works."
    areas = ("billing", "checkout", "search", "stock", "ledger", "mailer", "export", "gateway")
    known = [
        make_memory(area, text=text.format(area), slot=area, updated_at_ns=NOW_NS + number)
        for number, area in enumerate(areas)
    ]
    for area in areas:
        rig = Rig(known, injection=InjectionSettings(withhold_share=0, session_block_tokens=300))
        block = block_of(rig.send(Talk().ask(f"Run the checks of the {area} package and tell me whether they pass.")))

        assert f"src/{area}" in block
        assert sum(f"src/{other}" in block for other in areas) < len(areas)


# --- session block --------------------------------------------------------------------------------------------------


def test_the_block_is_the_last_system_block_and_the_others_are_untouched() -> None:
    """It is appended after all client text, and the client's own blocks stand before it as they were."""
    rig, talk = Rig([FIX]), Talk()
    prepared = rig.send(talk.ask("fix it"))

    assert system_of(prepared.body)[:-1] == talk.system
    assert FIX.id in block_of(prepared)
    assert prepared.injected.memory_ids == (FIX.id,)
    assert prepared.injected.skipped == ""


def test_the_block_is_frozen_for_the_conversations_life() -> None:
    """Other memories, another day and a restart of the proxy change nothing."""
    rig, talk = Rig([FIX]), Talk()
    first = block_of(rig.send(talk.ask("fix it")))
    rig.snapshot, rig.now_ns = Snapshot.of([make_memory("new"), make_memory("newer")]), NOW_NS + 10**15
    second = block_of(rig.send(talk.run("ok")))
    rig.restart()
    third = block_of(rig.send(talk.run("ok")))

    assert first == second == third != ""


def test_nothing_then_nothing_later() -> None:
    """What is learned while a conversation goes on comes with the next one."""
    rig, talk = Rig([]), Talk()
    bodies = [talk.ask("fix it")]
    assert rig.send(bodies[0]).body == bodies[0]
    rig.snapshot = Snapshot.of([FIX])
    later = rig.send(talk.run("ok"))
    other = rig.send(Talk().ask("fix it"), who(session_id="s-2"))

    assert (later.body, later.injected.skipped) == (talk.body(), "nothing")
    assert block_of(other)


def test_a_retry_of_the_opening_gets_the_same_bytes() -> None:
    """Deciding again would change the prefix that the first attempt may have cached."""
    rig, talk = Rig([FIX]), Talk()
    body = talk.ask("fix it")
    first = rig.send(body)
    rig.snapshot = Snapshot.of([make_memory("new")])

    assert rig.send(body).body == first.body


def test_a_conversation_first_seen_in_the_middle_gets_no_block_ever() -> None:
    """A late block would bust the cached prefix; also when the client later rewinds to the opening."""
    rig, talk = Rig([FIX]), Talk()
    talk.ask("fix it")
    late = rig.send(talk.run("ok"))
    del talk.messages[1:]
    rewound = rig.send(talk.body())

    assert (late.body, late.injected.skipped) == (late.body, "late")
    assert not late.insertions
    assert not rewound.insertions


def test_a_resumed_session_known_to_the_ledger_goes_on_with_its_block() -> None:
    """The client resumes with its whole history; the prefix is the one of before."""
    rig, talk = Rig([FIX]), Talk()
    first = block_of(rig.send(talk.ask("fix it")))
    rig.restart()
    talk.say("done")
    talk.ask("and now?")

    assert block_of(rig.send(talk.body())) == first


def test_after_the_agents_own_compaction_the_block_is_decided_anew() -> None:
    """The prefix is new anyhow; and then frozen again."""
    rig, talk = Rig([FIX]), Talk()
    before = block_of(rig.send(talk.ask("fix it")))
    new = make_memory("new")
    rig.snapshot = Snapshot.of([new])
    talk.messages.clear()
    after = block_of(rig.send(talk.ask(SUMMARY)))
    rig.snapshot = Snapshot.of([FIX])
    later = block_of(rig.send(talk.run("ok")))

    assert FIX.id in before
    assert new.id in after
    assert later == after


def test_compaction_keeps_the_bytes_when_the_memories_are_the_same() -> None:
    """A newer date alone is no reason to change them."""
    rig, talk = Rig([FIX]), Talk()
    before = block_of(rig.send(talk.ask("fix it")))
    rig.now_ns += 10**17
    talk.messages.clear()

    assert block_of(rig.send(talk.ask(SUMMARY))) == before


def test_a_string_system_prompt_is_extended_inside_its_quotes() -> None:
    """There is no block to append where the client uses none."""
    rig, talk = Rig([FIX]), Talk(system='You "are"\nan agent.')
    prepared = rig.send(talk.ask("fix it"))

    assert system_of(prepared.body).startswith('You "are"\nan agent.\n\n<spanlore-memory')
    assert without_insertions(prepared.body, prepared.insertions) == talk.body()


def test_a_client_without_session_ids_is_followed_by_its_opening() -> None:
    """Its block is frozen too; the same prompt typed anew in the same run is a new conversation."""
    nobody = who(session_id=None)
    rig, talk = Rig([FIX]), Talk()
    first = block_of(rig.send(talk.ask("fix it"), nobody))
    rig.snapshot = Snapshot.of([make_memory("new")])
    later = block_of(rig.send(talk.run("ok"), nobody))
    again = block_of(rig.send(Talk().ask("fix it"), nobody))

    assert first == later
    assert make_memory("new").id in again


def test_a_withheld_memory_is_logged_and_not_shown() -> None:
    """With a share of 1 everything is held back, and the request goes out untouched."""
    rig, talk = Rig([FIX], injection=InjectionSettings(withhold_share=1)), Talk()
    prepared = rig.send(talk.ask("fix it"))

    assert prepared.body == talk.body()
    assert prepared.injected.skipped == "withheld"
    assert notes_of(prepared, "withheld") == [("session_block", "")]


def test_what_the_project_says_is_not_repeated() -> None:
    """CLAUDE.md's own words in the request make the memory superfluous."""
    rig, talk = Rig([FIX]), Talk()
    prepared = rig.send(talk.ask("<system-reminder>Contents of /x/CLAUDE.md: tests run with `uv run pytest`"))

    assert prepared.body == talk.body()
    assert notes_of(prepared, "skipped") == [("session_block", "said")]


# --- failure hint ---------------------------------------------------------------------------------------------------


def test_a_hint_stands_after_the_failing_result() -> None:
    """It is the last block of that message, and the block in the system prompt is no reason against it."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    prepared = rig.send(talk.fail())

    assert [index for index, _ in hints_of(prepared)] == [2]
    assert orjson.loads(prepared.body)["messages"][2]["content"][0]["type"] == "tool_result"
    assert FIX.id in hints_of(prepared)[0][1]
    assert block_of(prepared)


def test_a_hint_is_replayed_beside_the_same_result_with_the_same_bytes() -> None:
    """Through later requests, other memories and a restart."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    first = hints_of(rig.send(talk.fail()))
    rig.snapshot = Snapshot.of([make_memory("new")])
    rig.restart()
    for _ in range(3):
        assert hints_of(rig.send(talk.run("ok"))) == first


def test_forwarded_bodies_only_grow_at_the_end() -> None:
    """Compared message by message, each forwarded request begins with the one before."""
    rig, talk = Rig([FIX, NEAR]), Talk()
    forwarded = [rig.send(talk.ask("fix it"))]
    forwarded += [rig.send(talk.fail()), rig.send(talk.run("ok")), rig.send(talk.fail(OTHER))]
    forwarded += [rig.send(talk.run("ok")), rig.send(talk.run("ok"))]
    documents = [orjson.loads(prepared.body) for prepared in forwarded]

    assert len(hints_of(forwarded[-1])) == 2
    for before, after in itertools.pairwise(documents):
        assert after["system"] == before["system"]
        assert after["messages"][: len(before["messages"])] == before["messages"]


def test_a_hint_goes_with_its_message() -> None:
    """When the client edits the message (here: clears old output) or drops it, nothing of ours stays."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    rig.send(talk.fail())
    kept = talk.messages[2]
    talk.messages[2] = {"role": "user", "content": [{**kept["content"][0], "content": "[cleared]"}]}
    edited = rig.send(talk.run("ok"))
    del talk.messages[1:3]
    dropped = rig.send(talk.run("ok"))

    assert hints_of(edited) == hints_of(dropped) == []
    assert block_of(dropped)


def test_moved_cache_breakpoints_do_not_lose_a_hint() -> None:
    """The client marks the newest block and takes the mark off again with the next request."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    talk.fail()
    talk.messages[2]["content"][0]["cache_control"] = {"type": "ephemeral"}
    first = hints_of(rig.send(talk.body()))
    del talk.messages[2]["content"][0]["cache_control"]

    assert hints_of(rig.send(talk.run("ok"))) == first != []


def test_a_memory_is_hinted_once_in_a_conversation() -> None:
    """The second time the same thing fails it is logged as repeated; a retry of the first is no second time."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    first = rig.send(talk.fail())
    retried = rig.send(talk.body())
    second = rig.send(talk.fail())

    assert hints_of(first) == hints_of(retried) == hints_of(second) != []
    assert notes_of(second, "skipped") == [("failure_hint", "repeated")]


def test_the_exact_signature_is_answered_before_the_class() -> None:
    """The near match is only used when there is no exact one."""
    rig, talk = Rig([FIX, NEAR]), Talk()
    rig.send(talk.ask("fix it"))
    exact = hints_of(rig.send(talk.fail()))
    near = hints_of(rig.send(talk.fail(OTHER)))

    assert FIX.id in exact[0][1]
    assert NEAR.id not in exact[0][1]
    assert len(near) == 2


def test_another_failure_gets_no_hint() -> None:
    """Similarity of words is not enough."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))

    assert hints_of(rig.send(talk.fail("Exit code 2\nfatal: not a git repository", command="git push"))) == []


def test_hints_are_capped() -> None:
    """So many in one request, and so many in a conversation; the rest is logged."""
    outputs = [f"Exit code 1\nValueError: {word}" for word in "abcdefghij"]
    memories = [
        make_memory(word, trigger=failure_trigger("make x", out, 1))
        for word, out in zip("abcdefghij", outputs, strict=True)
    ]
    rig, talk = Rig(memories), Talk()
    rig.send(talk.ask("fix it"))
    for output in outputs[:3]:
        talk.fail(output, command="make x")
    calls, results = talk.messages[1::2], talk.messages[2::2]
    talk.messages[1:] = [
        {"role": "assistant", "content": [block for message in calls for block in message["content"]]},
        {"role": "user", "content": [block for message in results for block in message["content"]]},
    ]
    at_once = rig.send(talk.body())
    for output in outputs[3:]:
        last = rig.send(talk.fail(output, command="make x"))

    assert len(hints_of(at_once)) == MAX_HINTS_PER_REQUEST
    assert ("failure_hint", "cap") in notes_of(at_once, "skipped")
    assert len(hints_of(last)) == MAX_HINTS_PER_CONVERSATION


def test_what_was_found_and_does_not_fit_is_told_with_the_reason() -> None:
    """`explain` shows what could have stood beside a failure, and why it does not; a few of them, if there are many."""
    error = "Exit code 4\nImportError: No module named '{}'"
    text = "`pytest` failed with “ImportError: No module named 'yaml'”; it passed after `pip install yaml`."
    yaml = make_memory("pytest", text=text, value="pip install yaml", slot="",
                       trigger=failure_trigger("pytest -q", error.format("yaml")))  # fmt: skip
    others = [
        make_memory(f"tool{n}", slot="", trigger=failure_trigger("pytest -q", error.format(f"tool{n}")))
        for n in range(2 * MAX_CUT_NOTED)
    ]
    rig, talk = Rig([yaml]), Talk()
    rig.send(talk.ask("fix it"))
    one = rig.send(talk.fail(error.format("erfa")))
    rig, talk = Rig([yaml, *others]), Talk()
    rig.send(talk.ask("fix it"))
    many = rig.send(talk.fail(error.format("erfa")))

    assert hints_of(one) == hints_of(many) == []
    assert notes_of(one, "skipped") == [("failure_hint", "other_error")]
    assert len(notes_of(many, "skipped")) == MAX_CUT_NOTED


def test_a_withheld_hint_is_logged() -> None:
    """A session that is without the memory is without it beside the failure too."""
    rig, talk = Rig([FIX], injection=InjectionSettings(withhold_share=1)), Talk()
    rig.send(talk.ask("fix it"))
    prepared = rig.send(talk.fail())

    assert prepared.body == talk.body()
    assert notes_of(prepared, "withheld") == [("failure_hint", "")]
    assert prepared.injected.skipped == "withheld"


def test_a_late_conversation_may_be_hinted() -> None:
    """A hint stands at the end, where nothing is cached yet."""
    rig, talk = Rig([FIX]), Talk()
    talk.ask("fix it")
    talk.run("ok")
    prepared = rig.send(talk.fail())

    assert len(hints_of(prepared)) == 1
    assert block_of(prepared) == ""


# --- sub-agents, side calls, compaction -----------------------------------------------------------------------------


def test_a_sub_agent_gets_hints_and_no_block() -> None:
    """Under a key of its own, so the main agent's hint is no second time."""
    rig, talk = Rig([FIX]), Talk()
    agent = who(CallClass.SUBAGENT, agent_key="a1")
    opening = rig.send(talk.ask("look around"), agent)
    failed = rig.send(talk.fail(), agent)

    assert (opening.body, opening.injected.skipped) == (orjson.dumps(orjson.loads(opening.body)), "subagent")
    assert not opening.insertions
    assert block_of(failed) == ""
    assert len(hints_of(failed)) == 1


@pytest.mark.parametrize(
    "call_class", [CallClass.TITLE, CallClass.COUNT_TOKENS, CallClass.PROBE, CallClass.SIDE, CallClass.UNKNOWN]
)
def test_side_calls_get_nothing_and_nothing_is_replayed(call_class: CallClass) -> None:
    """They share the session and not its prefix."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    prepared = rig.send(talk.fail(), who(call_class))

    assert prepared.body == talk.body()
    assert prepared.injected.skipped == "side_call"


def test_a_side_call_first_does_not_make_the_conversation_late() -> None:
    """Claude Code asks for a title before or beside the first main request."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"), who(CallClass.TITLE))

    assert block_of(rig.send(talk.body()))


def test_compaction_replays_and_adds_nothing() -> None:
    """The summarising request is the conversation's own prefix, so what stands in it stays, and nothing new comes."""
    rig, talk = Rig([FIX, NEAR]), Talk()
    block = block_of(rig.send(talk.ask("fix it")))
    hints = hints_of(rig.send(talk.fail()))
    talk.fail(OTHER)
    talk.ask("CRITICAL: Respond with TEXT ONLY. Summarise.")
    prepared = rig.send(talk.body(), who(CallClass.COMPACTION))

    assert block_of(prepared) == block
    assert hints_of(prepared) == hints
    assert all(item["first"] is False for item in log_of(prepared))


def test_a_summariser_with_a_prefix_of_its_own_gets_nothing() -> None:
    """Without tools it is not the conversation's prefix; and an unknown conversation has nothing to replay."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    document = orjson.loads(talk.body())
    del document["tools"]
    own = rig.send(orjson.dumps(document), who(CallClass.COMPACTION))
    unknown = rig.send(talk.body(), who(CallClass.COMPACTION, "s-other"))

    assert not own.insertions
    assert not unknown.insertions
    assert own.injected.skipped == "side_call"


# --- attested -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("attested", "is_rewritten"), [("client", False), ("off", False), ("rewrite", True)])
def test_a_signed_request_is_rewritten_only_on_the_users_word(attested: str, is_rewritten: bool) -> None:
    """By default a subscription's signed bodies go out byte for byte, hints included, and are counted."""
    rig = Rig([FIX], injection=InjectionSettings.model_validate({"withhold_share": 0, "attested": attested}))
    talk, signed = Talk(), who(is_attested=True)
    opening = rig.send(talk.ask("fix it"), signed)
    failed = rig.send(talk.fail(), signed)

    assert (opening.body != orjson.dumps(orjson.loads(opening.body)) or bool(opening.insertions)) is is_rewritten
    assert bool(failed.insertions) is is_rewritten
    if not is_rewritten:
        assert failed.body == talk.body()
        assert failed.injected.skipped == "attested"
        assert notes_of(failed, "skipped") == [("failure_hint", "attested")]


def test_a_block_handed_to_the_client_is_known_and_not_doubled() -> None:
    """It is logged as shown, with what the run withholds; an unsigned client that has it gets no second one."""
    share = InjectionSettings(withhold_share=0.5)
    memories = [make_memory(str(n), subject=str(n)) for n in range(5)]
    rig = Rig(memories, injection=share)
    text = client_block(rig.snapshot, SCOPE, "claude-code", share, "run-0123456789ab", NOW_NS)
    talk = Talk(system=[{"type": "text", "text": f"You are an agent.\n{text}"}])
    signed = rig.send(talk.ask("fix it"), who(is_attested=True))
    unsigned = rig.send(talk.body(), who(session_id="s-2"))
    shown = set(signed.injected.memory_ids)
    (withheld,) = [set(item["memory_ids"]) for item in log_of(signed) if item["state"] == "withheld"]

    assert signed.injected.skipped == "attested"
    assert shown
    assert shown | withheld == {memory.id for memory in memories}
    assert not shown & withheld
    assert notes_of(signed, "shown") == [("client_block", "")]
    assert (unsigned.insertions, unsigned.injected.skipped) == ((), "client_block")
    assert set(unsigned.injected.memory_ids) == shown


# --- the plan itself ------------------------------------------------------------------------------------------------


def test_a_plan_without_the_ledger_keeps_only_what_was_there() -> None:
    """What can't be remembered can't be replayed."""
    old = Placed(Placement(PlacementKind.FAILURE_HINT, "toolu_1", "old", ()), 0, is_new=False)
    new = Placed(Placement(PlacementKind.FAILURE_HINT, "toolu_2", "new", ()), 2, is_new=True)

    assert Plan((old, new), Entry("00")).replayed == Plan((old,))
    assert Plan((new,), Entry("00")).replayed.skipped == "ledger"


def test_an_unchanged_entry_is_not_written_again() -> None:
    """A later request of a conversation costs no row, once its first answer is known."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    rig.send(talk.run("ok"))
    saved: list[Entry] = []
    rig.ledger.save = saved.append  # type: ignore[method-assign,assignment]  # counts what would be written
    rig.send(talk.run("ok"))
    rig.send(talk.run("ok"))

    assert saved == []


@pytest.mark.parametrize("memory", [make_memory(status=Status.TRIAL), make_memory(harness="claude-code")])
def test_trial_and_harness_bound_memories_are_shown(memory: Memory) -> None:
    """When nothing is withheld, what is on trial and what suits this harness is in the block."""
    assert memory.id in block_of(Rig([memory]).send(Talk().ask("fix it")))
