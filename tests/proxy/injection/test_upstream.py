"""Whole upstream bodies: a change before the tail is the client's, or it is the proxy's."""

from __future__ import annotations

import copy
import random
from dataclasses import replace
from typing import Any

import pytest

from spanlore.genai.inference import Dialect
from spanlore_proxy.injection.upstream import UpstreamWatch, Watched, pieces_of

ANTHROPIC, CHAT, RESPONSES, GEMINI = (
    Dialect.ANTHROPIC_MESSAGES,
    Dialect.OPENAI_CHAT,
    Dialect.OPENAI_RESPONSES,
    Dialect.GEMINI,
)
DIALECTS = (ANTHROPIC, CHAT, RESPONSES, GEMINI)
BLOCK, HINT = "<spanlore-memory>", "<spanlore-hint>"


def body(dialect: Dialect, *said: str, block: str = "", hints: dict[int, str] | None = None) -> dict[str, Any]:
    """A conversation: user and model take turns. With `block` and `hints` (by message) it is a forwarded one."""
    texts = [(text, number % 2 == 1, (hints or {}).get(number, "")) for number, text in enumerate(said)]
    tools: list[Any] = [{"name": "Bash"}, {"name": "Read"}]
    if dialect is ANTHROPIC:
        system = [_block("You are an agent."), *([_block(block)] if block else [])]
        messages = [
            {"role": "assistant" if is_model else "user", "content": [_block(text), *([_block(hint)] if hint else [])]}
            for text, is_model, hint in texts
        ]
        return {"model": "m", "messages": messages, "system": system, "tools": tools}
    if dialect is CHAT:
        first = {"role": "system", "content": "You are an agent." + (f"\n\n{block}" if block else "")}
        rest = [{"role": "assistant" if is_model else "user", "content": text + hint} for text, is_model, hint in texts]
        return {"model": "m", "messages": [first, *rest], "tools": tools}
    if dialect is RESPONSES:
        items: list[Any] = [{"role": "developer", "content": "You are an agent."}]
        items += [{"role": "developer", "content": block}] if block else []
        items += [
            {"role": "assistant" if is_model else "user", "content": text + hint} for text, is_model, hint in texts
        ]
        return {"model": "m", "input": items, "tools": tools}
    parts = [{"text": "You are an agent."}, *([{"text": block}] if block else [])]
    contents = [
        {"role": "model" if is_model else "user", "parts": [{"text": text}, *([{"text": hint}] if hint else [])]}
        for text, is_model, hint in texts
    ]
    return {"contents": contents, "systemInstruction": {"parts": parts}, "tools": [{"functionDeclarations": tools}]}


def _block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def play(dialect: Dialect, *requests: tuple[Any, Any], watched: Watched | None = None) -> list[str]:
    """What the watch says of each (client's body, forwarded body)."""
    watch = UpstreamWatch()
    one = watched or Watched("c", is_derived=False, epoch="")
    return [watch.check(one, dialect, client, client if sent is None else sent) for client, sent in requests]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_replayed_raises_nothing(dialect: Dialect) -> None:
    """A block from the first request on, a hint from its message on, a retry, and a resumed conversation."""
    one, two, three = ("a",), ("a", "b", "c"), ("a", "b", "c", "d", "e")
    hints = {2: HINT}
    played = [
        (body(dialect, *one), body(dialect, *one, block=BLOCK)),
        (body(dialect, *two), body(dialect, *two, block=BLOCK, hints=hints)),
        (body(dialect, *two), body(dialect, *two, block=BLOCK, hints=hints)),
        (body(dialect, *three), body(dialect, *three, block=BLOCK, hints=hints)),
    ]

    assert play(dialect, *played) == ["", "", "", ""]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("block", ["", "<spanlore-memory> another"])
def test_a_block_that_goes_or_changes_is_the_proxys(dialect: Dialect, block: str) -> None:
    """The system prompt, though the client's is as it was."""
    played = [
        (body(dialect, "a"), body(dialect, "a", block=BLOCK)),
        (body(dialect, "a", "b", "c"), body(dialect, "a", "b", "c", block=block)),
    ]

    assert play(dialect, *played) == ["", "system"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_block_that_comes_late_is_the_proxys(dialect: Dialect) -> None:
    """Nothing at first means nothing later."""
    late = body(dialect, "a", "b", "c", block=BLOCK)

    assert play(dialect, (body(dialect, "a"), None), (body(dialect, "a", "b", "c"), late))[1] in ("system", "messages")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("before", "after"), [({0: HINT}, {}), ({}, {0: HINT}), ({0: HINT}, {0: "<spanlore-hint> x"})])
def test_hints_that_go_come_or_change(dialect: Dialect, before: dict[int, str], after: dict[int, str]) -> None:
    """In a message that the model has answered."""
    played = [
        (body(dialect, "a", "b", "c"), body(dialect, "a", "b", "c", hints=before)),
        (body(dialect, "a", "b", "c", "d", "e"), body(dialect, "a", "b", "c", "d", "e", hints=after)),
    ]

    assert play(dialect, *played) == ["", "messages"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_tail_may_change(dialect: Dialect) -> None:
    """A second attempt gets at its end what the first did not: what the model has not answered is no prefix yet."""
    said = ("a", "b", "c")

    assert play(
        dialect, (body(dialect, *said), None), (body(dialect, *said), body(dialect, *said, hints={2: HINT}))
    ) == [
        "",
        "",
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_the_client_changes_is_the_clients(dialect: Dialect) -> None:
    """An edited message takes its hint along; a rewound conversation, another system prompt, other tools."""
    first = (body(dialect, "a", "b", "c"), body(dialect, "a", "b", "c", block=BLOCK, hints={0: HINT}))
    edited = ("A", "b", "c", "d", "e")
    rewound = body(dialect, "a", "b", "x", block=BLOCK, hints={0: HINT})
    other = body(dialect, "a", "b", "c", "d", "e")
    other["tools"] = [{"name": "Write"}]

    assert play(dialect, first, (body(dialect, *edited), body(dialect, *edited, block=BLOCK))) == ["", ""]
    assert play(dialect, first, (body(dialect, "a", "b", "x"), rewound)) == ["", ""]
    assert play(dialect, first, (other, None)) == ["", ""]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tools_are_never_ours_to_change(dialect: Dialect) -> None:
    """The first thing that caches read."""
    client = body(dialect, "a", "b", "c")
    sent = copy.deepcopy(client)
    sent["tools"].append({"name": "recall"})

    assert play(dialect, (body(dialect, "a"), None), (client, sent))[1] in ("tools", "system")
    assert play(dialect, (body(dialect, "a"), None), (client, {**sent, "tools": [{"name": "X"}]}))[1] == "tools"


def test_moved_breakpoints_and_other_spellings_change_nothing() -> None:
    """The client marks its newest block, and sends one message as a text and as a list."""
    one, two = body(ANTHROPIC, "a"), body(ANTHROPIC, "a", "b", "c")
    one["messages"][0]["content"][0]["cache_control"] = {"type": "ephemeral"}
    two["messages"][0]["content"] = "a"
    sent = copy.deepcopy(two)
    sent["system"].append(_block(BLOCK))
    sent["messages"][0]["content"] = [_block("a")]
    first = copy.deepcopy(one)
    first["system"].append(_block(BLOCK))

    assert play(ANTHROPIC, (one, first), (two, sent)) == ["", ""]


def test_a_compaction_begins_anew() -> None:
    """Another epoch: the block may be another one, inside the very text of the system prompt."""
    watch = UpstreamWatch()
    one = body(CHAT, "a", "b", "c")
    watch.check(Watched("c", False, ""), CHAT, one, body(CHAT, "a", "b", "c", block=BLOCK))
    two, three = body(CHAT, "summary"), body(CHAT, "summary", "b", "c")

    assert watch.check(Watched("c", False, "e"), CHAT, two, body(CHAT, "summary", block="new")) == ""
    changed = body(CHAT, "summary", "b", "c", block="newer")
    assert watch.check(Watched("c", False, None), CHAT, three, changed) == "system"


def test_a_derived_key_may_be_two_conversations() -> None:
    """Which take turns: of them tools and system prompt are compared, and nothing else."""
    derived = Watched("c", is_derived=True, epoch="")
    one = body(ANTHROPIC, "a", "b", "c")
    other = body(ANTHROPIC, "a", "b", "x")
    played = [
        (one, body(ANTHROPIC, "a", "b", "c", block=BLOCK, hints={0: HINT})),
        (other, body(ANTHROPIC, "a", "b", "x", block=BLOCK)),
        (other, None),
    ]

    assert play(ANTHROPIC, *played, watched=derived) == ["", "", "system"]


def test_a_history_that_the_provider_holds() -> None:
    """What goes on from it adds to it; when the history is sent again, all that was placed has to be there."""
    watch = UpstreamWatch()
    first, second, third = (body(RESPONSES, *said) for said in (("a",), ("a", "b", "c"), ("a", "b", "c", "d", "e")))
    continued = body(RESPONSES, "a", "b", "c", hints={2: HINT})
    good = body(RESPONSES, "a", "b", "c", "d", "e", block=BLOCK, hints={2: HINT})
    for sent, expected in ((good, ""), (body(RESPONSES, "a", "b", "c", "d", "e", hints={2: HINT}), "system")):
        watch.forget("c")
        watch.check(Watched("c", False, ""), RESPONSES, first, body(RESPONSES, "a", block=BLOCK))
        assert watch.check(Watched("c", False, "", is_continued=True), RESPONSES, second, continued) == ""
        assert watch.check(Watched("c", False, ""), RESPONSES, third, sent) == expected


def test_bounded() -> None:
    """By conversations and by parts; what was forgotten is compared from its next request on."""
    few = UpstreamWatch(max_conversations=2)
    small = UpstreamWatch(max_parts=8)
    for watch in (few, small):
        for name in ("one", "two", "three"):
            watch.check(Watched(name, False, ""), CHAT, body(CHAT, "a"), body(CHAT, "a", block=BLOCK))
        assert watch.check(Watched("one", False, ""), CHAT, body(CHAT, "a", "b", "c"), body(CHAT, "a", "b", "c")) == ""
    few.check(Watched("three", False, ""), CHAT, body(CHAT, "a"), body(CHAT, "a", block=BLOCK))
    changed = body(CHAT, "a", "b", "c")
    assert few.check(Watched("three", False, ""), CHAT, changed, changed) == "system"


def restarted(watch: UpstreamWatch) -> UpstreamWatch:
    """Another process's, with what the first one gave away to be kept."""
    kept = {name: replace(changed.body, is_restored=True) for name, changed in watch.take_changed().items()}
    return UpstreamWatch(load=kept.get)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("is_derived", [False, True])
@pytest.mark.parametrize("has_answer", [False, True])
def test_a_restart_is_no_gap(dialect: Dialect, is_derived: bool, has_answer: bool) -> None:
    """What stood there before has to stand there after it; the block also where nothing was answered yet."""
    watched = Watched("c", is_derived, epoch="")
    said = ("a", "b", "c") if has_answer else ("a",)
    more = (*said, "d", "e") if has_answer else ("a", "b", "c")
    for block, expected in ((BLOCK, ""), ("", "system"), ("another", "system")):
        watch = UpstreamWatch()
        watch.check(watched, dialect, body(dialect, *said), body(dialect, *said, block=BLOCK))
        later = body(dialect, *more), body(dialect, *more, block=block)
        assert restarted(watch).check(watched, dialect, *later) == expected


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_lost_retry_is_no_alarm(dialect: Dialect) -> None:
    """The body that was kept got nothing beside its newest message; its retry did, and the proxy was killed before
    that was kept. A hint that had stood there, in an answered message or not, is missed all the same."""
    watched = Watched("c", is_derived=False, epoch="")
    said, more = ("a", "b", "c"), ("a", "b", "c", "d", "e")
    for before, after, expected in (({}, {2: HINT}, ""), ({2: HINT}, {}, "messages"), ({}, {0: HINT}, "messages")):
        watch = UpstreamWatch()
        watch.check(watched, dialect, body(dialect, *said), body(dialect, *said, block=BLOCK, hints=before))
        later = body(dialect, *more), body(dialect, *more, block=BLOCK, hints=after)
        assert restarted(watch).check(watched, dialect, *later) == expected


def test_what_is_given_to_be_kept_is_what_is_new() -> None:
    """How many pairs stand already; after a failure to keep them, none."""
    watch, one = UpstreamWatch(), Watched("c", is_derived=False, epoch="")
    counts = []
    for said in (("a",), ("a", "b", "c"), ("a", "x", "c")):
        client = body(CHAT, *said)
        watch.check(one, CHAT, client, body(CHAT, *said, block=BLOCK))
        changed = watch.take_changed()
        counts.append((changed["c"].same, len(changed["c"].body.pairs)))
    watch.not_kept(changed)

    assert counts == [(0, 4), (4, 6), (4, 6)]
    assert watch.take_changed()["c"].same == 0
    assert watch.take_changed() == {}


def test_odd_bodies_are_taken_apart_all_the_same() -> None:
    """Nothing a client may send is too strange for a digest."""
    odd: dict[str, Any] = {
        "system": None,
        "tools": "none",
        "messages": [
            1,
            None,
            "x",
            {"role": "user"},
            {"role": "user", "content": {"a": 1 << 80}},
            {"content": "\ud800"},
        ],
    }

    assert play(ANTHROPIC, (odd, None), (odd, copy.deepcopy(odd))) == ["", ""]
    assert [section for section, _ in pieces_of(RESPONSES, {"instructions": "x", "input": "y"}).head] == ["system"]
    assert pieces_of(GEMINI, {"request": {"contents": [{"parts": []}]}}).messages == [{"parts": []}]


def test_equal_numbers_and_truths_are_no_equal_parts() -> None:
    """`1` and `true` are equal to Python, and not to a cache: told apart between requests."""
    one, other = ({"messages": [{"role": "user", "content": [{"n": value}]}]} for value in (1, True))
    sent = [{"messages": [*body["messages"], {"role": "user", "content": HINT}]} for body in (one, other)]
    more = {"messages": [*other["messages"], {"role": "assistant", "content": "x"}]}

    assert play(ANTHROPIC, (one, sent[0]), (more, {"messages": [*more["messages"], {"role": "user"}]})) == ["", ""]


def test_parts_taken_from_the_body_before_are_those_that_would_be_made() -> None:
    """Whatever came before: system messages that come and go at the beginning, other tools, shorter and other talks.
    A body that nothing is known of has its parts made anew, and is compared by an empty past."""
    draw = random.Random(7)
    said: list[dict[str, Any]] = [
        {"role": role, "content": text} for role in ("system", "user", "assistant", "developer") for text in "ab"
    ]
    watch, anew, seen = UpstreamWatch(), UpstreamWatch(), set()
    one, last = Watched("c", is_derived=False, epoch=""), list[dict[str, Any]]()
    for _ in range(600):
        last = [*last[: draw.choice((len(last), len(last), draw.randrange(9)))], draw.choice(said)][-12:]
        client = {"tools": [{"name": "t"}] * draw.choice((1, 1, 2)), "messages": copy.deepcopy(last)}
        sent = {**client, "messages": [*client["messages"], *draw.choice(([], [], said[1:2]))]}
        seen.add(watch.check(one, CHAT, client, sent))
        anew.forget("c")
        anew.check(one, CHAT, client, sent)

        assert watch._last == anew._last
    assert len(seen) > 1
