"""Conversations that the ledger does not know by their key: resumed, forked, compacted."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.ledger import Entry, MemoryLedger
from spanlore_proxy.injection.lineage import MAX_KNOWN, Lineage
from support.agent_talks import AnthropicTalk, AnyTalk, ChatTalk, GeminiTalk, texts_of, turns_of
from support.injecting import WORKPLACE, Rig, failure_trigger, log_of, make_memory

FIX = make_memory("pytest", trigger=failure_trigger())
NEW = make_memory("new")
SUMMARY = "<state_snapshot>It was built.</state_snapshot>"
GOT_IT = "Got it. Thanks for the additional context!"
TALKS: Mapping[str, Callable[[], AnyTalk]] = {"chat": ChatTalk, "gemini": GeminiTalk, "anthropic": AnthropicTalk}
FIRST, SECOND, THIRD = (f"run-00000000000{n}" for n in range(3))

type Send = Callable[..., Prepared]


def sender(rig: Rig, talk: AnyTalk) -> Send:
    """Sends the talk's bodies, as a process that names no session unless told otherwise."""

    def send(body: bytes, run_id: str = FIRST, session: str | None = None, **place: Any) -> Prepared:
        call_class = place.pop("call_class", CallClass.MAIN)
        identity = Identity(session_id=session, harness=talk.harness, call_class=call_class)
        workplace = dataclasses.replace(WORKPLACE, run_id=run_id, harness=talk.harness, **place)
        return rig.send(body, identity, endpoint=talk.endpoint, workplace=workplace)

    return send


def said(prepared: Prepared, tag: str = "spanlore-memory") -> list[str]:
    texts = texts_of(turns_of(prepared.body))
    return [text[text.index(f"<{tag}") :] for text in texts if f"<{tag}" in text]


def begun(name: str, **rig: Any) -> tuple[Rig, AnyTalk, Send, Prepared]:
    """A conversation with a block, a failure and its hint, over; memories have changed since."""
    rigged, talk = Rig([FIX], **rig), TALKS[name]()
    send = sender(rigged, talk)
    send(talk.ask("fix it"))
    last = send(talk.fail())
    rigged.snapshot = Snapshot.of([NEW])
    talk.say("done")
    return rigged, talk, send, last


def compacted(talk: AnyTalk, *, has_answer: bool = True) -> AnyTalk:
    """What the agent makes of its history."""
    after = type(talk)()
    after.ask(SUMMARY)
    if has_answer:
        after.say(GOT_IT)
        after.ask("go on")
    return after


# --- resumed and forked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_restarted", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize("name", TALKS)
def test_another_process_resumes_with_what_stood_there(name: str, is_restarted: bool) -> None:
    """Block and hint, the same bytes at the same places, whatever is known now; and it goes on so."""
    rig, talk, send, last = begun(name)
    if is_restarted:
        rig.restart()
    resumed = send(talk.ask("and now?"), SECOND)
    later = send(talk.run(), SECOND)

    assert said(resumed) == said(later) == said(last) != []
    assert said(resumed, "spanlore-hint") == said(later, "spanlore-hint") == said(last, "spanlore-hint") != []
    turns = turns_of(last.body)
    assert turns_of(resumed.body)[: len(turns)] == turns
    assert not any(item["first"] for item in log_of(resumed)) and rig.changed == []


@pytest.mark.parametrize("session", ["s-2", None], ids=["named", "nameless"])
def test_a_fork_keeps_the_prefix(session: str | None) -> None:
    """Under another session's name, in another process, from an earlier place in the history; what comes later in one
    of them is none of the other's."""
    rig, talk = Rig([FIX]), AnthropicTalk()
    send = sender(rig, talk)
    first = send(talk.ask("fix it"), session=session and "s-1")
    send(talk.run(), session=session and "s-1")
    forked = AnthropicTalk()
    forked.talk.messages = list(talk.talk.messages)
    branch = send(forked.fail(), SECOND, session)
    main = send(talk.run(), session=session and "s-1")

    assert said(branch) == said(main) == said(first) != []
    assert (len(said(branch, "spanlore-hint")), len(said(main, "spanlore-hint"))) == (1, 0)


def test_a_resumed_conversation_draws_the_same_lots() -> None:
    """What was withheld there is withheld here, and what is shown there is shown."""
    memories = [make_memory(f"m{n}") for n in range(12)]
    for number in range(6):
        rig, talk = Rig(memories, injection=InjectionSettings(withhold_share=0.5, session_block_tokens=900)), ChatTalk()
        send = sender(rig, talk)
        first = send(talk.ask(f"fix it {number}"))
        send(talk.run())
        after = compacted(talk)
        send(talk.ask("summarise"), call_class=CallClass.COMPACTION)
        onward = send(after.body())

        assert said(onward) == said(first)


@pytest.mark.parametrize(
    "changes",
    [{"cwd": "/home/u/other"}, {"opening": "fix that"}, {"answer": "Another answer."}],
    ids=["directory", "opening", "answer"],
)
def test_what_is_not_proven_to_be_the_same_gets_nothing(changes: dict[str, str]) -> None:
    """Another directory, opening or first answer: its prefix may be cached without a block."""
    rig = Rig([FIX])
    talk = ChatTalk()
    send = sender(rig, talk)
    send(talk.ask("fix it"))
    talk.say("An answer.")
    send(talk.ask("more"))
    other = ChatTalk()
    other.ask(changes.pop("opening", "fix it"))
    other.say(changes.pop("answer", "An answer."))
    body = other.ask("and now?")
    late = send(body, SECOND, **changes)

    assert (late.body, late.injected.skipped) == (body, "late")


def test_of_two_that_began_alike_the_newest_is_gone_on_from() -> None:
    """The very same words and answer in two processes; `--continue` means the last."""
    rig, talk = Rig([FIX]), ChatTalk()
    send = sender(rig, talk)
    blocks = []
    for run_id, memory in ((FIRST, FIX), (SECOND, NEW)):
        rig.snapshot = Snapshot.of([memory])
        talk.messages.clear()
        talk.calls = 0
        send(talk.ask("fix it"), run_id)
        blocks.append(said(send(talk.run(), run_id)))
    resumed = send(talk.run(), THIRD)

    assert blocks[0] != blocks[1] == said(resumed)


def test_where_nothing_stood_nothing_is_signed() -> None:
    """A conversation without anything of ours costs the ledger one row, and what resumes it gets nothing."""
    rig, talk = Rig([]), ChatTalk()
    send = sender(rig, talk)
    send(talk.ask("fix it"))
    send(talk.run())
    rig.snapshot = Snapshot.of([FIX])

    assert send(talk.run(), SECOND).injected.skipped == "late"
    assert isinstance(rig.ledger, MemoryLedger)
    assert not any(entry.origin for entry in rig.ledger.entries.values())


def test_an_alarm_is_inherited() -> None:
    """What is off stays off in another process."""
    rig, talk, send, _ = begun("chat")
    assert isinstance(rig.ledger, MemoryLedger)
    (known,) = [entry for entry in rig.ledger.entries.values() if entry.placements]
    rig.ledger.save(Entry(known.conversation, is_decided=True, is_off=True))
    resumed = send(talk.ask("and now?"), SECOND)

    assert (resumed.insertions, resumed.injected.skipped) == ((), "alarm")


def test_a_ledger_that_takes_no_sign_costs_the_resume_and_not_the_request() -> None:
    """The request that would be signed goes out with its block."""
    rig, talk = Rig([FIX]), ChatTalk()
    send = sender(rig, talk)
    first = send(talk.ask("fix it"))
    keep = rig.ledger.save

    def save(entry: Entry) -> None:
        if entry.origin:
            raise OSError("full")
        keep(entry)

    rig.ledger.save = save  # type: ignore[method-assign]  # a disk that is full
    assert said(send(talk.run())) == said(first)
    assert send(talk.run(), SECOND).injected.skipped == "late"


# --- compacted ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("has_answer", [True, False], ids=["with-an-answer", "without"])
@pytest.mark.parametrize("name", TALKS)
def test_after_a_compaction_the_block_is_decided_anew(name: str, has_answer: bool) -> None:
    """In the process that asked for the summary; then it is frozen again, through a restart, too."""
    rig, talk, send, last = begun(name)
    send(talk.ask("summarise"), call_class=CallClass.COMPACTION)
    after = compacted(talk, has_answer=has_answer)
    onward = send(after.body())
    rig.snapshot = Snapshot.of([FIX])
    rig.restart()
    later = send(after.run())

    assert NEW.id in said(onward)[0] and said(later) == said(onward) != said(last)
    assert rig.changed == []


def test_after_a_compaction_the_same_memories_keep_their_bytes() -> None:
    """A newer date alone is no reason to change them."""
    rig, talk, send, last = begun("gemini")
    rig.snapshot, rig.now_ns = Snapshot.of([FIX]), rig.now_ns + 10**17
    send(talk.ask("summarise"), call_class=CallClass.COMPACTION)

    assert said(send(compacted(talk).body())) == said(last)


def test_a_summary_that_the_process_made_as_it_ended() -> None:
    """pi's next run begins with it; a third one that resumes the same goes on from the second."""
    rig, talk, send, _ = begun("anthropic")
    text = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "<conversation>…</conversation>"}]})
    send(text, call_class=CallClass.COMPACTION)
    after = compacted(talk)
    onward = send(after.body(), SECOND)
    later = send(after.run(), SECOND)
    rig.snapshot = Snapshot.of([FIX])

    assert NEW.id in said(onward)[0]
    assert said(later) == said(onward) == said(send(after.run(), THIRD))


def test_a_resumed_process_that_compacts_at_once() -> None:
    """Its request for the summary is the whole history: what stands there is replayed, and nothing is added."""
    _, talk, send, last = begun("gemini")
    compaction = send(talk.ask("summarise"), SECOND, call_class=CallClass.COMPACTION)
    onward = send(compacted(talk).body(), SECOND)

    assert said(compaction) == said(last) and said(compaction, "spanlore-hint") == said(last, "spanlore-hint")
    assert NEW.id in said(onward)[0]


@pytest.mark.parametrize("why", ["not-asked", "known-before", "gone-on", "elsewhere", "no-run"])
def test_a_summary_that_may_be_an_old_one_gets_nothing(why: str) -> None:
    """Nobody asked for it; it stood in what was summarised; the process went on without it; it was another directory's;
    or nobody knows which process asked."""
    _, talk, send, _ = begun("gemini")
    run = "" if why == "no-run" else FIRST
    after = compacted(talk)
    if why == "known-before":
        send(after.ask("summarise"), call_class=CallClass.COMPACTION)
    elif why != "not-asked":
        send(talk.ask("summarise"), run, call_class=CallClass.COMPACTION)
    if why == "gone-on":
        send(talk.body())
    place = {"cwd": "/home/u/other"} if why == "elsewhere" else {}
    late = send(after.body(), SECOND if why == "elsewhere" else run, **place)

    assert (late.insertions, late.injected.skipped) == ((), "late")


def test_bounded() -> None:
    """Of the oldest runs it is forgotten what they did."""
    talk, rig = GeminiTalk(), Rig([FIX])
    lineage = Lineage(rig.ledger, lambda: 0)
    rig.injector._lineage = lineage
    send = sender(rig, talk)
    send(talk.ask("fix it"))
    for number in range(MAX_KNOWN + 10):
        send(talk.ask("summarise"), f"run-{number}", cwd=f"/w/{number}", call_class=CallClass.COMPACTION)

    assert len(lineage._runs) == MAX_KNOWN
