"""A change before the tail that the client did not make is found, and ends injection for that conversation."""

import dataclasses
from collections.abc import Callable

import orjson
import pytest

from spanlore.recall.snapshot import Snapshot
from spanlore.spans.place import Injected
from spanlore_proxy.injection.invariant import noted_alarm
from spanlore_proxy.injection.ledger import Entry, MemoryLedger
from support.injecting import Rig, Talk, failure_trigger, log_of, make_memory, who

FIX = make_memory("pytest", trigger=failure_trigger())
TASK = make_memory("alembic", text="`alembic upgrade` fails here; `make migrate` works.", value="make migrate")
PROMPT = "Apply the alembic migrations and tell me what changed in the schema."


def entry_of(rig: Rig) -> Entry:
    """The only conversation's."""
    assert isinstance(rig.ledger, MemoryLedger)
    [entry] = [entry for entry in rig.ledger.entries.values() if not entry.origin]
    return entry


def tampered(rig: Rig, change: Callable[[Entry], Entry | None]) -> None:
    """The ledger's row changes behind the injector's back."""
    assert isinstance(rig.ledger, MemoryLedger)
    entry = entry_of(rig)
    changed = change(entry)
    rig.ledger.entries = {entry.conversation: changed} if changed else {}


def begun() -> tuple[Rig, Talk]:
    """A conversation with a block and a failure hint, and the next command's result to come."""
    rig, talk = Rig([FIX]), Talk()
    assert rig.send(talk.ask("fix it")).insertions
    assert len(rig.send(talk.fail()).insertions) == 2
    return rig, talk


def lose_block(entry: Entry) -> Entry:
    return dataclasses.replace(entry, placements=entry.hints)


def lose_hint(entry: Entry) -> Entry:
    return dataclasses.replace(entry, placements=entry.placements[:1])


def change_text(entry: Entry) -> Entry:
    block, *hints = entry.placements
    return dataclasses.replace(entry, placements=(dataclasses.replace(block, text=block.text + "."), *hints))


@pytest.mark.parametrize(
    ("change", "alarm"),
    [(lose_block, "system"), (change_text, "system"), (lose_hint, "dropped"), (lambda entry: None, "system")],
)
def test_a_ledger_that_forgets_raises_the_alarm(change: Callable[[Entry], Entry | None], alarm: str) -> None:
    """The request goes out untouched, and so does every later one, also by a restarted proxy."""
    rig, talk = begun()
    tampered(rig, change)
    prepared = rig.send(talk.run("ok"))

    assert (prepared.alarm, prepared.body, prepared.injected.skipped) == (alarm, talk.body(), "alarm")
    assert orjson.loads(prepared.injected.placements_json)[0]["reason"] == "prefix_changed"
    rig.restart()
    later = rig.send(talk.fail())
    assert (later.alarm, later.body, later.injected.skipped) == ("", talk.body(), "alarm")
    assert entry_of(rig).is_off


def test_other_conversations_go_on() -> None:
    """Only the one that raised it is off."""
    rig, talk = begun()
    tampered(rig, lose_block)
    rig.send(talk.run("ok"))

    assert rig.send(Talk().ask("fix it"), who(session_id="s-2")).insertions


def test_a_long_conversation_raises_none() -> None:
    """Block, hints, prompts, 60 requests, a restart in the middle: the alarm stays silent and every prefix stands."""
    rig, talk = Rig(), Talk()
    rig.send(talk.ask("hello"))
    talk.say("hi")
    rig.snapshot = Snapshot.of([FIX, TASK])
    alarms = []
    for step in range(60):
        body = talk.fail() if step % 7 == 0 else talk.run("ok", command=f"ls {step}")
        if step % 13 == 5:
            talk.say("done")
            body = talk.ask(PROMPT + f" Part {step}.")
        if step == 30:
            rig.restart()
        alarms.append(rig.send(body).alarm)

    assert set(alarms) == {""}
    assert rig.changed == []
    assert len(entry_of(rig).hints) >= 2


def test_what_the_client_changes_is_its_own_doing() -> None:
    """An edited message, a dropped one, a shorter history, a compaction: no alarm, and injection goes on."""
    rig, talk = begun()
    edited = orjson.loads(talk.body())
    edited["messages"][2]["content"][0]["content"] = "cleared"
    edited["messages"] += [{"role": "assistant", "content": "x"}, {"role": "user", "content": "go on"}]
    shorter = orjson.loads(talk.body())
    shorter["messages"] = shorter["messages"][:1]
    compacted = orjson.loads(talk.body())
    summary = "This session is being continued from a previous conversation that ran out of context. Summary: …"
    compacted["messages"] = [{"role": "user", "content": summary}] * 5
    prepared = [rig.send(orjson.dumps(document)) for document in (edited, shorter, compacted)]

    assert [one.alarm for one in prepared] == ["", "", ""]
    assert all(one.insertions for one in prepared)
    assert rig.changed == []


def test_what_was_answered_before_a_rewind_gets_nothing_new() -> None:
    """It is cached as it was. What is new after the rewind is hinted as ever, and what stood there stays."""
    rig, talk = Rig(), Talk()
    rig.send(talk.ask("hello"))
    talk.say("hi")
    rig.send(talk.ask(PROMPT))
    rig.send(talk.fail())
    rig.snapshot = Snapshot.of([FIX, TASK])
    rig.send(talk.run("ok"))
    del talk.messages[5:]
    failed = [rig.send(talk.body()), rig.send(talk.body())]
    del talk.messages[3:]
    asked = rig.send(talk.body())
    later = rig.send(talk.fail())

    assert [one.insertions for one in (*failed, asked)] == [()] * 3
    assert {item["reason"] for one in (*failed, asked) for item in log_of(one)} == {"answered"}
    assert len(later.insertions) == 1
    assert rig.changed == []


@pytest.mark.parametrize("knows", [True, False], ids=["told", "not told"])
def test_a_rewind_is_known_by_the_next_proxy(knows: bool) -> None:
    """How far the model had come the ledger says; where it does not, all may have been answered. Then as ever."""
    rig, talk = Rig(), Talk()
    rig.send(talk.ask("hello"))
    rig.send(talk.fail())
    rig.send(talk.run("ok"))
    rig.snapshot = Snapshot.of([FIX])
    del talk.messages[3:]
    rig.restart()
    if not knows:
        entry, rig.ledger = entry_of(rig), MemoryLedger()
        rig.ledger.save(entry)
        rig.restart()
    rewound = rig.send(talk.body())

    assert (rewound.insertions, [item["reason"] for item in log_of(rewound)]) == ((), ["answered"])
    assert len(rig.send(talk.fail()).insertions) == 1
    assert rig.changed == []


@pytest.mark.parametrize("why", ["bypass", "killed", "deadline"])
def test_what_was_answered_while_we_stood_aside_gets_nothing_new(why: str) -> None:
    """The model has answered it without a hint, whoever left it alone."""
    rig, talk = Rig(), Talk()
    rig.send(talk.ask("hello"))
    rig.send(talk.run("ok"))
    rig.snapshot = Snapshot.of([FIX])
    times = iter(range(0, 10**18, 10**9))
    rig.is_killed = why == "killed"
    rig.clock_ns = (lambda: next(times)) if why == "deadline" else rig.clock_ns
    headers = (("x-spanlore-bypass", "1"),) if why == "bypass" else ()
    aside = [rig.send(talk.fail(), headers=headers), rig.send(talk.run("ok"), headers=headers)]
    rig.is_killed, rig.clock_ns = False, lambda: 0
    del talk.messages[-2:]

    assert {one.injected.skipped for one in aside} == {why}
    assert rig.send(talk.body()).insertions == ()
    assert len(rig.send(talk.fail()).insertions) == 1


def test_a_fork_to_what_was_answered_gets_nothing_new() -> None:
    """Under another session's name; what is new in it is hinted."""
    rig, talk = Rig([TASK]), Talk()
    rig.send(talk.ask("hello"))
    rig.send(talk.fail())
    rig.send(talk.run("ok"))
    rig.snapshot = Snapshot.of([TASK, FIX])
    del talk.messages[3:]
    forked = rig.send(talk.body(), who(session_id="s-2"))
    later = rig.send(talk.fail(), who(session_id="s-2"))

    assert [len(one.insertions) for one in (forked, later)] == [1, 2]


def test_a_request_that_is_sent_again_raises_none() -> None:
    """Also when the second attempt gets a hint that the first did not."""
    rig, talk = Rig(), Talk()
    rig.send(talk.ask("hello"))
    talk.say("hi")
    rig.send(talk.ask(PROMPT))
    rig.snapshot = Snapshot.of([TASK])
    again = rig.send(talk.body())

    assert (again.alarm, len(again.insertions)) == ("", 1)
    assert rig.send(talk.run("ok")).alarm == ""
    assert rig.changed == []


def test_conversations_with_a_derived_key_may_take_turns() -> None:
    """Two runs of the same prompt in one run look like one conversation; what one was hinted the other was not."""
    rig, one, other = Rig([FIX]), Talk(), Talk()
    for talk in (one, other):
        rig.send(talk.ask("fix it"), who(session_id=None))
    alarms = [rig.send(talk.fail(command=command), who(session_id=None)).alarm for talk, command in
              ((one, "pytest -q"), (other, "make"), (one, "pytest -q"), (other, "pytest -q"))]  # fmt: skip

    assert alarms == [""] * 4
    assert rig.changed == []


def test_a_fault_that_leaves_the_block_out_is_seen_in_the_body() -> None:
    """No plan was made that could have been compared: the bodies tell, and injection can be switched off by that."""
    rig, talk = begun()

    def broken(*args: object) -> int:
        raise RuntimeError("the clock stopped")

    rig.injector._now_ns = broken
    prepared = rig.send(talk.run("ok"))
    rig.restart()
    rig.injector.switch_off(entry_of(rig).conversation, rig.changed[0])
    rig.restart()
    later = rig.send(talk.run("ok"))

    assert prepared.injected.skipped == "error:RuntimeError"
    assert rig.changed == ["system"]
    assert (later.insertions, later.injected.skipped, later.watched) == ((), "alarm", None)


def test_an_alarm_is_told_beside_what_was_placed() -> None:
    """The ledgers of cost find the request by it."""
    placements = '[{"kind":"session_block"}]'
    told = noted_alarm(Injected(memory_ids=("m-1",), placements_json=placements))

    assert [one["kind"] for one in orjson.loads(told.placements_json)] == ["session_block", "alarm"]
    assert told.memory_ids == ("m-1",)
