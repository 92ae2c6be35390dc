"""The façade: refusals, the deadline, faults of ours, and what is told about each request."""

import itertools
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass, Dialect
from spanlore.recall.index import Hit
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import CaptureSettings, InjectionSettings
from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Prepared, client_block, is_off
from spanlore_proxy.injection.ledger import Entry, MemoryLedger
from spanlore_proxy.injection.rewrite import without_insertions
from spanlore_proxy.injection.wording import memory_line, shown_ids
from spanlore_proxy.wire.dialect import Endpoint, Kind
from support.agent_talks import TALKS, AnyTalk, ChatTalk, GeminiTalk, ResponsesTalk, texts_of, turns_of
from support.injecting import ENDPOINT, NOW_NS, SCOPE, WORKPLACE, Rig, Talk, failure_trigger, log_of, make_memory, who

FIX = make_memory("pytest", trigger=failure_trigger())
MS = 1_000_000


class BrokenLedger(MemoryLedger):
    """Can be read and not written, as on a full disk."""

    def save(self, entry: Entry) -> None:
        raise OSError("disk full")


@pytest.mark.parametrize(
    ("reason", "rig", "send"),
    [
        ("disabled", {"injection": InjectionSettings(enabled=False)}, {}),
        ("killed", {"is_killed": True}, {}),
        ("bypass", {}, {"headers": (("x-spanlore-bypass", "1"),)}),
        ("unknown_project", {}, {"workplace": Workplace(cwd="/home/u/shop")}),
        ("off_repository", {"capture": CaptureSettings(off_repositories=(SCOPE,))}, {}),
        ("off_repository", {"capture": CaptureSettings(off_repositories=("/home/u",))}, {}),
        ("side_call", {}, {"endpoint": Endpoint(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", Kind.COUNT_TOKENS)}),
        ("signed", {}, {"headers": (("X-Amz-Date", "20260921T000000Z"),)}),
        ("nothing", {"injection": InjectionSettings(session_block_tokens=0)}, {}),
    ],
)
def test_refused_requests_go_out_untouched_with_the_reason(
    reason: str, rig: dict[str, Any], send: dict[str, Any]
) -> None:
    """Each switch leaves the client's own bytes, the very object, and says which it was."""
    body = Talk().ask("fix it")
    prepared = Rig([FIX], **rig).send(body, **send)

    assert prepared.body is body
    assert prepared.insertions == ()
    assert prepared.injected.skipped == reason
    assert prepared.injected.memory_ids == ()


def test_the_kill_file_stops_replays_too() -> None:
    """While it exists nothing of ours goes out, and afterwards the conversation goes on with the same block."""
    rig, talk = Rig([FIX]), Talk()
    first = rig.send(talk.ask("fix it"))
    rig.is_killed = True
    killed = rig.send(talk.run("ok"))
    rig.is_killed = False
    after = rig.send(talk.run("ok"))

    assert killed.body == without_insertions(killed.body, ())
    assert not killed.insertions
    assert after.insertions[0].data == first.insertions[0].data


def test_another_directory_is_not_excluded_by_its_name() -> None:
    """`/home/u/sh` does not exclude `/home/u/shop`."""
    rig = Rig([FIX], capture=CaptureSettings(off_repositories=("/home/u/sh", "github.com/acme")))

    assert rig.send(Talk().ask("fix it")).insertions


def test_a_body_that_could_not_be_parsed_is_left_alone() -> None:
    """Without a parsed request there is nothing to decide."""
    prepared = Rig([FIX]).injector.prepare(b"{", ENDPOINT, None, who(), WORKPLACE, ())

    assert (prepared.body, prepared.injected.skipped) == (b"{", "malformed")


@pytest.mark.parametrize("slow_step", [2, 3])
def test_after_the_deadline_the_untouched_body_goes_out(slow_step: int) -> None:
    """Whether the time went by before the decision or after it; nothing is written into the ledger."""
    readings = itertools.count()
    rig = Rig([FIX], clock_ns=lambda: 0 if next(readings) < slow_step - 1 else 51 * MS)
    body = Talk().ask("fix it")
    prepared = rig.send(body)

    assert prepared.body is body
    assert prepared.injected.skipped == "deadline"
    assert isinstance(rig.ledger, MemoryLedger)
    assert rig.ledger.entries == {}


@pytest.mark.parametrize("slow_step", [2, 3])
def test_after_the_deadline_what_stands_is_replayed(slow_step: int) -> None:
    """Leaving it out would cost the whole cached prefix; nothing new is placed, and the ledger stays."""
    now: Iterator[int] = itertools.repeat(0)
    rig, talk = Rig([FIX], clock_ns=lambda: next(now)), Talk()
    first = rig.send(talk.ask("fix it"))
    assert isinstance(rig.ledger, MemoryLedger)
    entries = dict(rig.ledger.entries)
    now = itertools.chain([0] * (slow_step - 1), itertools.repeat(51 * MS))
    late = rig.send(talk.fail())

    assert [one.data for one in late.insertions] == [one.data for one in first.insertions]
    assert rig.ledger.entries == entries
    assert rig.changed == []


def test_within_the_deadline_the_overhead_is_told() -> None:
    """In nanoseconds of the clock that was given."""
    readings = itertools.count(0, 5 * MS)
    prepared = Rig([FIX], clock_ns=lambda: next(readings)).send(Talk().ask("fix it"))

    assert prepared.insertions
    assert prepared.injected.overhead_ns == 15 * MS


def test_a_place_that_can_not_be_proven_is_counted() -> None:
    """A system prompt that stands twice: the bytes go out as they came, and the ledger does not say otherwise."""
    rig = Rig([FIX])
    body = b'{"system":[],"system":[],"tools":[{}],"messages":[{"role":"user","content":[]}]}'
    prepared = rig.send(body)

    assert prepared.body is body
    assert prepared.injected.skipped == "offset"
    assert isinstance(rig.ledger, MemoryLedger)
    assert rig.ledger.entries == {}


def test_nothing_new_without_a_ledger() -> None:
    """What can't be remembered is not inserted; what is known is still replayed."""
    rig, talk = Rig([FIX], ledger=BrokenLedger()), Talk()
    body = talk.ask("fix it")
    first = rig.send(body)
    known = Rig([FIX])
    known.send(body)
    assert isinstance(rig.ledger, MemoryLedger) and isinstance(known.ledger, MemoryLedger)
    rig.ledger.entries.update(known.ledger.entries)
    rig.restart()
    failed = rig.send(talk.fail())

    assert (first.body, first.injected.skipped) == (body, "ledger")
    assert len(failed.insertions) == 1
    assert b"spanlore-memory" in failed.insertions[0].data


def test_an_unreadable_ledger_leaves_the_request_alone() -> None:
    """Not knowing what stood there, anything might be wrong."""
    rig = Rig([FIX])

    def fail(_: str) -> Entry:
        raise OSError("locked")

    rig.ledger.load = fail  # type: ignore[method-assign,assignment]  # a fault that no real file gives on demand
    body = Talk().ask("fix it")

    assert rig.send(body).body is body
    assert rig.send(body).injected.skipped == "ledger"


def test_a_fault_of_ours_costs_the_agent_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever is raised inside, the body goes out, the reason names the error, and the log has the trace."""
    rig = Rig([FIX])
    rig.injector._snapshot = lambda: 1 / 0  # type: ignore[assignment,return-value]  # a fault to have one
    body = Talk().ask("fix it")
    prepared = rig.send(body)

    assert prepared.body is body
    assert prepared.injected.skipped == "error:ZeroDivisionError"
    assert "Traceback" in caplog.text


def test_the_log_tells_what_stood_where() -> None:
    """Kind, anchor, ids, bytes of the text, and whether it is new; the inserted bytes are the bodies' difference."""
    rig, talk = Rig([FIX]), Talk()
    first = rig.send(talk.ask("fix it"))
    second = rig.send(talk.fail())
    block, hint = log_of(second)

    assert [item["first"] for item in log_of(first)] == [True]
    assert block == {
        "kind": "session_block",
        "state": "shown",
        "anchor": "system",
        "memory_ids": [FIX.id],
        "bytes": len(orjson.loads(second.body)["system"][-1]["text"].encode()),
        "first": False,
        "position": -1,
        "sizes": [len(f"{memory_line(FIX)}\n".encode())],
    }
    assert hint["position"] == 2
    assert (hint["kind"], hint["anchor"], hint["memory_ids"], hint["first"]) == (
        "failure_hint",
        "toolu_1",
        [FIX.id],
        True,
    )
    assert second.injected.added_bytes == len(second.body) - len(talk.body())
    assert second.injected.memory_ids == (FIX.id,)


def test_the_insertions_undo_themselves() -> None:
    """What `explain` shows is enough to get from the forwarded body back to the client's."""
    rig, talk = Rig([FIX]), Talk()
    rig.send(talk.ask("fix it"))
    prepared = rig.send(talk.fail())

    assert len(prepared.insertions) == 2
    assert without_insertions(prepared.body, prepared.insertions) == talk.body()


def test_the_clients_block_is_a_session_block() -> None:
    """What `spanlore run` hands over holds the same memories as a rewrite would."""
    rig = Rig([FIX])
    text = client_block(rig.snapshot, SCOPE, "claude-code", rig.injection, "run-1", NOW_NS)

    assert shown_ids(text) == (FIX.id,)


@pytest.mark.parametrize(
    ("repository", "settings"),
    [
        ("", InjectionSettings(withhold_share=0)),
        (SCOPE, InjectionSettings(withhold_share=0, enabled=False)),
        (SCOPE, InjectionSettings(withhold_share=0, attested="off")),
        (SCOPE, InjectionSettings(withhold_share=0, attested="rewrite")),
        (SCOPE, InjectionSettings(withhold_share=1)),
        ("github.com/acme/other", InjectionSettings(withhold_share=0)),
    ],
)
def test_the_client_is_handed_nothing_against_the_settings(repository: str, settings: InjectionSettings) -> None:
    """No project, switched off, another way chosen, all withheld, or nothing known there."""
    assert client_block(Rig([FIX]).snapshot, repository, "claude-code", settings, "run-1", NOW_NS) == ""


@pytest.mark.parametrize(
    ("off", "answer"),
    [
        ((), False),
        (("example.org/o/r",), True),
        (("example.org/o",), False),
        (("/w/private",), True),
        (("/w/private/repo/deeper",), False),
        (("/w/priv",), False),
    ],
)
def test_is_off(off: tuple[str, ...], answer: bool) -> None:
    """The user names repositories by scope key and directories by path; a directory covers all below it."""
    assert is_off(Workplace(repository="example.org/o/r", cwd="/w/private/repo"), off) is answer


@pytest.mark.parametrize(
    ("off", "only", "answer"),
    [
        (("example.org/o/*",), (), True),
        (("example.org/*/x",), (), False),
        ((), ("example.org/o/r",), False),
        ((), ("example.org/o/*",), False),
        ((), ("/w/private",), False),
        ((), ("example.org/other",), True),
        (("/w/private",), ("example.org/o/r",), True),
    ],
)
def test_patterns_and_opting_in(off: tuple[str, ...], only: tuple[str, ...], answer: bool) -> None:
    """`*` stands for any part; with `only` what is not named is off, and what is excluded stays so."""
    assert is_off(Workplace(repository="example.org/o/r", cwd="/w/private/repo"), off, only) is answer


def test_who_opts_in_excludes_what_is_not_known() -> None:
    """A request of which neither repository nor directory is known is off as soon as something is named."""
    assert is_off(Workplace(), (), ("example.org/o/r",))
    assert not is_off(Workplace(), (), ())


def test_a_repository_without_a_remote_is_named_by_its_directory() -> None:
    """Its scope key is `path:` and the directory; naming the directory is enough, wherever in it the agent stands."""
    assert is_off(Workplace(repository="path:/w/alone", cwd=""), ("/w/alone",))


# --- every dialect ---------------------------------------------------------------------------------------------------


def send(rig: Rig, talk: AnyTalk, body: bytes, session_id: str | None = "s-1", **changes: Any) -> Prepared:
    """What the proxy would forward of any client's request."""
    values = {"harness": talk.harness, "call_class": CallClass.MAIN, **changes}
    return rig.send(body, Identity(session_id=session_id, **values), endpoint=talk.endpoint)


def said(prepared: Prepared, tag: str) -> list[str]:
    """The texts of the forwarded body that hold a tag of ours, from the tag on."""
    texts = texts_of(turns_of(prepared.body))
    return [text[text.index(f"<{tag}") :] for text in texts if f"<{tag}" in text]


@pytest.mark.parametrize("session_id", ["s-1", None], ids=["session", "no-session"])
@pytest.mark.parametrize("name", TALKS)
def test_a_conversation_of_any_dialect(name: str, session_id: str | None) -> None:
    """The block from the opening on and the hint from the failure on, each once, with the same bytes, through a restart
    of the proxy; the forwarded turns only grow at the end, and the client's bytes are all there."""
    rig, talk = Rig([FIX]), TALKS[name]()
    sent: list[Prepared] = []
    for number, step in enumerate([lambda: talk.ask("fix it"), talk.run, talk.fail, talk.run, talk.fail]):
        body = step()
        rig.restart()
        rig.snapshot, rig.now_ns = rig.snapshot if number < 3 else type(rig.snapshot).of([]), rig.now_ns + 10**15
        sent.append(send(rig, talk, body, session_id))
        assert without_insertions(sent[-1].body, sent[-1].insertions) == body
    talk.say("done")
    sent.append(send(rig, talk, talk.ask("more"), session_id))

    assert [len(said(one, "spanlore-memory")) for one in sent] == [1] * 6
    assert [len(said(one, "spanlore-hint")) for one in sent] == [0, 0, 1, 1, 1, 1]
    assert len({tuple(said(one, "spanlore-memory")) for one in sent}) == 1
    assert len({tuple(said(one, "spanlore-hint")) for one in sent[2:]}) == 1
    for before, after in itertools.pairwise(sent):
        turns = turns_of(before.body)
        assert turns_of(after.body)[: len(turns)] == turns
    assert rig.changed == []


def test_call_ids_that_come_again_do_not_lose_a_hint() -> None:
    """Some servers count anew with every answer; the result that is as it was keeps its hint, and no other gets it."""
    rig, talk = Rig([FIX]), ChatTalk()
    send(rig, talk, talk.ask("fix it"))
    sent = []
    for step in (talk.run, talk.fail, talk.run):
        talk.calls = 0
        sent.append(send(rig, talk, step()))

    assert [len(said(one, "spanlore-hint")) for one in sent] == [0, 1, 1]
    turns = turns_of(sent[1].body)
    assert turns_of(sent[2].body)[: len(turns)] == turns


@pytest.mark.parametrize("name", TALKS)
def test_a_message_in_its_other_form_keeps_its_hint(name: str) -> None:
    """Clients turn strings into lists of parts, and the other way round; the hint goes along."""
    rig, talk = Rig([FIX]), TALKS[name]()
    send(rig, talk, talk.ask("fix it"))
    first = send(rig, talk, talk.fail())
    if isinstance(talk, ChatTalk):
        result = talk.messages[-1]
        result["content"] = [{"type": "text", "text": result["content"]}]
        talk.system = [{"type": "text", "text": talk.system}]
    elif isinstance(talk, ResponsesTalk):
        result = talk.items[-1]
        result["output"] = [{"type": "input_text", "text": result["output"]}]
    later = send(rig, talk, talk.run())

    assert said(first, "spanlore-hint") == said(later, "spanlore-hint") != []
    assert said(first, "spanlore-memory") == said(later, "spanlore-memory") != []
    assert "messages" not in rig.changed or not isinstance(talk, ChatTalk)


@pytest.mark.parametrize("name", TALKS)
def test_side_calls_of_any_dialect_go_out_untouched(name: str) -> None:
    """Title, router, probe: the very object."""
    talk = TALKS[name]()
    body = talk.ask("title?")
    prepared = send(Rig([FIX]), talk, body, call_class=CallClass.TITLE)

    assert prepared.body is body
    assert prepared.injected.skipped == "side_call"


def test_after_codexs_compaction_the_block_is_decided_anew() -> None:
    """Its own item stands for the history; the preamble and the block stand before it."""
    rig, talk = Rig([FIX]), ResponsesTalk()
    send(rig, talk, talk.ask("fix it"))
    new = make_memory("new")
    rig.snapshot = type(rig.snapshot).of([new])
    talk.items[1:] = [{"type": "compaction", "encrypted_content": "x"}]
    after = send(rig, talk, talk.body(), is_compacted=True)
    later = send(rig, talk, talk.run(), is_compacted=True)

    assert shown_ids(said(after, "spanlore-memory")[0]) == (new.id,)
    assert said(after, "spanlore-memory") == said(later, "spanlore-memory")


@pytest.mark.parametrize("session_id", ["s-1", None], ids=["session", "no-session"])
def test_where_the_provider_holds_the_history_nothing_is_said_twice(session_id: str | None) -> None:
    """The block went with the opening; the next request names the response before and goes out as it is. A client that
    sends all of it again (Codex after its WebSocket failed) finds the block at its place."""
    rig, talk = Rig([FIX]), ResponsesTalk()
    first = send(rig, talk, talk.ask("fix it"), session_id)
    whole = talk.run()
    rest = ResponsesTalk(preamble=[], items=talk.items[-1:], extra={"previous_response_id": "r1"})
    continued = send(rig, rest, rest.body(), session_id)
    again = send(rig, talk, whole, session_id)

    assert len(said(first, "spanlore-memory")) == 1
    assert continued.body == rest.body()
    assert said(again, "spanlore-memory") == said(first, "spanlore-memory")


def test_a_conversation_that_is_first_seen_continued_gets_no_block() -> None:
    """It is past its opening, wherever that was."""
    rig = Rig([FIX])
    talk = ResponsesTalk(extra={"previous_response_id": "r1"})
    prepared = send(rig, talk, talk.ask("go on"))

    assert prepared.body == talk.body()
    assert prepared.injected.skipped == "late"


def test_aider_is_known_by_its_process() -> None:
    """Its requests offer no tools and do not name it; the run does."""
    rig, talk = Rig([FIX]), ChatTalk(last=[{"role": "system", "content": "rules"}])
    body = orjson.dumps({key: value for key, value in talk.document().items() if key != "tools"})
    identity = Identity(session_id="s", call_class=CallClass.UNKNOWN)
    workplace = Workplace(harness="aider", repository=SCOPE, cwd="/home/u/shop")

    assert rig.send(body, identity, endpoint=talk.endpoint).injected.skipped == "side_call"
    assert rig.send(body, identity, endpoint=talk.endpoint, workplace=workplace).insertions


@pytest.mark.parametrize(
    ("talk", "reason"),
    [
        (ResponsesTalk(preamble=[]), "no_input"),
        (GeminiTalk(extra={"cachedContent": "c"}), "cached_content"),
    ],
    ids=["empty-input", "cached-content"],
)
def test_a_body_without_room_is_refused_with_the_reason(talk: AnyTalk, reason: str) -> None:
    """What a layout refuses is not tried."""
    prepared = send(Rig([FIX]), talk, talk.body())

    assert (prepared.body, prepared.injected.skipped) == (talk.body(), reason)


def test_a_slow_recall_costs_the_memory_and_not_the_request() -> None:
    """The search takes longer than the deadline: the untouched body goes out, and nothing is remembered as sent."""
    now = [0]

    class Slow(Snapshot):
        def search(self, *args: Any, **kwargs: Any) -> list[Hit]:
            now[0] += 60 * MS
            return super().search(*args, **kwargs)

    rig, talk = Rig([], clock_ns=lambda: now[0]), Talk()
    made = Snapshot.of([FIX])
    rig.snapshot = Slow(*(getattr(made, name) for name in made.__dataclass_fields__))
    prepared = rig.send(talk.ask("Make pytest pass for the whole shop package, please."))

    assert prepared.body == talk.body()
    assert prepared.injected.skipped == "deadline"
    assert isinstance(rig.ledger, MemoryLedger)
    assert rig.ledger.entries == {}
