"""Hints behind a new prompt, played as clients of each dialect send it."""

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Memory, Status
from spanlore.recall.budget import count_tokens
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.prompt_hints import MAX_MEMORIES, MAX_PROMPT_HINTS
from spanlore_proxy.injection.rewrite import without_insertions
from support.agent_talks import TALKS
from support.injecting import Rig, Talk, failure_trigger, log_of, make_memory, who

ALEMBIC = make_memory(
    "alembic",
    text="`alembic upgrade head` fails here with no config; `make migrate` is the form that works.",
    value="make migrate",
    status=Status.TRIAL,
)
PYTEST = make_memory("pytest", trigger=failure_trigger())
PROMPT = "Apply the alembic migrations to the test database, then tell me what changed."


def hints(prepared: Prepared) -> list[tuple[str, list[str]]]:
    """(kind, ids) of the prompt hints that stand in the forwarded body."""
    return [
        (item["kind"], item["memory_ids"])
        for item in log_of(prepared)
        if item["state"] == "shown" and item["kind"] in ("task_hint", "family_hint")
    ]


def late(rig: Rig, talk: Talk) -> None:
    """The conversation is past its opening, and its block is decided: nothing."""
    memories, rig.snapshot = rig.snapshot, Snapshot()
    rig.send(talk.ask("hi"))
    talk.say("hello")
    rig.snapshot = memories


def test_a_prompt_that_names_a_memory_gets_it_behind_its_words() -> None:
    """In the newest message, after the person's own text, once; the client's bytes stay."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)
    prepared = rig.send(talk.ask(PROMPT))
    content = orjson.loads(prepared.body)["messages"][-1]["content"]

    assert hints(prepared) == [("task_hint", [ALEMBIC.id])]
    assert [block["text"][:13] for block in content] == [PROMPT[:13], "<spanlore-hin"]
    assert without_insertions(prepared.body, prepared.insertions) == talk.body()


def test_it_is_replayed_there_with_the_same_bytes_also_by_a_restarted_proxy() -> None:
    """In every later request, and when the client sends the message in its other form or moves it."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)
    first = orjson.loads(rig.send(talk.ask(PROMPT)).body)["messages"][2]
    talk.run("ok")
    rig.restart()
    second = rig.send(talk.body())
    talk.messages[2] = {"role": "user", "content": PROMPT}
    third = rig.send(talk.body())
    talk.messages.insert(0, {"role": "user", "content": "hey"})
    fourth = rig.send(talk.body())

    assert orjson.loads(second.body)["messages"][2] == first
    assert orjson.loads(third.body)["messages"][2] == first
    assert orjson.loads(fourth.body)["messages"][3] == first


def test_an_edited_prompt_loses_its_hint() -> None:
    """The client itself has changed the prefix there."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)
    rig.send(talk.ask(PROMPT))
    talk.messages[2]["content"][0]["text"] = "Something else entirely, at some length"
    talk.run("ok")

    assert hints(rig.send(talk.body())) == []


@pytest.mark.parametrize(
    ("prompt", "memory"),
    [("alembic, please", ALEMBIC), ("Write a poem about the sea and the wind of autumn", ALEMBIC)],
)
def test_short_prompts_and_unclear_matches_get_nothing(prompt: str, memory: Memory) -> None:
    """Nothing found, nothing said."""
    rig, talk = Rig([memory]), Talk()
    late(rig, talk)

    assert rig.send(talk.ask(prompt)).insertions == ()


def test_what_the_prompt_names_too_little_of_is_told() -> None:
    """`explain` shows that it was found, and not shown."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)
    prepared = rig.send(talk.ask("The config of the mailer has to be read before it starts."))

    assert prepared.insertions == ()
    assert [(item["kind"], item["reason"]) for item in log_of(prepared)] == [("task_hint", "unclear")]


def test_what_the_session_block_shows_is_not_said_again() -> None:
    """One memory, one place ahead of the action; the log tells why."""
    rig, talk = Rig([ALEMBIC]), Talk()
    prepared = rig.send(talk.ask(PROMPT))

    assert hints(prepared) == []
    assert ("task_hint", "repeated") in [(item["kind"], item.get("reason")) for item in log_of(prepared)]


def test_the_users_own_words_win() -> None:
    """A memory that the prompt contradicts is withheld and told as contradicted."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)
    talk.messages[0]["content"][0]["text"] = "In this session never use `make migrate`, whatever you see."
    prepared = rig.send(talk.ask(PROMPT))

    assert prepared.insertions == ()
    assert [item["reason"] for item in log_of(prepared)] == ["contradicted"]


@pytest.mark.parametrize("call_class", [CallClass.SUBAGENT, CallClass.TITLE, CallClass.COMPACTION])
def test_only_the_main_agents_prompts_count(call_class: CallClass) -> None:
    """A sub-agent's prompt is its parent's, a side call's is nobody's."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)

    assert hints(rig.send(talk.ask(PROMPT), who(call_class))) == []


def test_an_attested_request_is_left_alone_and_what_would_have_been_hinted_is_told() -> None:
    """Skipped, attested."""
    rig, talk = Rig([ALEMBIC]), Talk()
    late(rig, talk)
    prepared = rig.send(talk.ask(PROMPT), who(is_attested=True))

    assert prepared.body == talk.body()
    assert ("task_hint", "attested") in [(item["kind"], item.get("reason")) for item in log_of(prepared)]


def test_a_withheld_memory_is_told_and_nothing_stands_there() -> None:
    """The opportunity is logged as withheld, as a first."""
    rig, talk = Rig([ALEMBIC], InjectionSettings(withhold_share=1)), Talk()
    late(rig, talk)
    prepared = rig.send(talk.ask(PROMPT))

    assert prepared.insertions == ()
    assert [(item["kind"], item["state"], item["first"]) for item in log_of(prepared)] == [
        ("task_hint", "withheld", True)
    ]


def test_budget_and_caps_hold() -> None:
    """At most so many memories and tokens a hint, so many hints a conversation."""
    memories = [
        make_memory(
            f"alembic{n}",
            subject="alembic",
            slot=f"s{n}",
            value="",
            text=f"The alembic migrations of the test database need step {n} first, " + "x" * 200,
        )
        for n in range(30)
    ]
    rig, talk = Rig(memories), Talk()
    late(rig, talk)
    placed = []
    for n in range(MAX_PROMPT_HINTS + 2):
        prepared = rig.send(talk.ask(f"{PROMPT} Attempt {n}."))
        placed.append([item for item in log_of(prepared) if item["kind"] == "task_hint" and item["first"]])
        talk.say("done")
    texts = [hint.text for entry in rig.ledger.entries.values() for hint in entry.hints]  # type: ignore[attr-defined]

    assert [len(items) for items in placed] == [1] * MAX_PROMPT_HINTS + [0, 0]
    assert all(0 < len(item["memory_ids"]) <= MAX_MEMORIES for items in placed for item in items)
    assert all(count_tokens(text) <= 250 for text in texts)


def test_the_family_hint_is_off_unless_switched_on() -> None:
    """Then even a short prompt that asks for tests gets what is known about their command."""
    for is_on, expected in ((False, []), (True, [("family_hint", [PYTEST.id])])):
        rig, talk = Rig([PYTEST], InjectionSettings(withhold_share=0, family_hint=is_on)), Talk()
        late(rig, talk)

        assert hints(rig.send(talk.ask("run the tests"))) == expected


def test_a_failure_hint_may_repeat_a_prompt_hint() -> None:
    """Beside the failure is where it works; it does so once."""
    rig, talk = Rig([PYTEST]), Talk()
    late(rig, talk)
    rig.send(talk.ask("Make pytest pass for the shop package, please and thank you."))
    shown = [
        [item["kind"] for item in log_of(rig.send(talk.fail())) if item["state"] == "shown" and item["first"]]
        for _ in range(2)
    ]

    assert shown == [["failure_hint"], []]


@pytest.mark.parametrize("name", TALKS)
def test_every_dialect_has_room_behind_a_prompt(name: str) -> None:
    """The hint arrives, is replayed with the same bytes, and the client's body comes back byte for byte."""
    rig, talk = Rig(), TALKS[name]()
    identity = Identity(session_id="s-1", harness=talk.harness, call_class=CallClass.MAIN)
    rig.send(talk.ask("hi"), identity, endpoint=talk.endpoint)
    talk.say("hello")
    rig.snapshot = Snapshot.of([ALEMBIC])
    first = rig.send(talk.ask(PROMPT), identity, endpoint=talk.endpoint)
    assert hints(first) == [("task_hint", [ALEMBIC.id])]
    assert without_insertions(first.body, first.insertions) == talk.body()
    talk.say("done")
    second = rig.send(talk.ask("and now the rest"), identity, endpoint=talk.endpoint)

    assert first.insertions[0].data in second.body
