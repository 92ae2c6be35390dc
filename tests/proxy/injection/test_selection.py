"""Which memories a session block holds, and which are held back."""

from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.injection.overlap import Said
from spanlore_proxy.injection.selection import Selection, is_withheld, select
from support.injecting import NOW_NS, SCOPE, failure_trigger, make_memory

ALL = InjectionSettings(withhold_share=0)


def chosen(
    memories: list[Memory], settings: InjectionSettings = ALL, said: Said | None = None, seed: str = "s"
) -> Selection:
    """The selection for Claude Code in `SCOPE`."""
    return select(Snapshot.of(memories), SCOPE, "claude-code", settings, seed, NOW_NS, said)


def reasons(selection: Selection) -> dict[str, str]:
    """Memory id → state or reason, of what is not shown."""
    return {id_: note.reason or note.state for note in selection.notes for id_ in note.memory_ids}


def share(memory: Memory, wanted: float) -> float:
    """Of 4,000 sessions, in how many the memory is withheld."""
    return sum(is_withheld(f"session-{n}", memory, wanted) for n in range(4000)) / 4000


def test_the_withheld_share_is_what_was_asked_for() -> None:
    """A tenth of the sessions, half for a memory on trial, none for a pinned one or a share of 0, all for 1."""
    assert abs(share(make_memory(), 0.1) - 0.1) < 0.02
    assert abs(share(make_memory(status=Status.TRIAL), 0.1) - 0.5) < 0.03
    assert abs(share(make_memory(status=Status.TRIAL), 0.8) - 0.8) < 0.03
    assert share(make_memory(pinned=True), 1.0) == 0
    assert share(make_memory(status=Status.TRIAL), 0.0) == 0
    assert share(make_memory(), 1.0) == 1


@given(st.text(), st.floats(0, 1), st.floats(0, 1))
def test_withholding_is_fixed_and_grows_with_the_share(seed: str, low: float, high: float) -> None:
    """The same session and memory always agree, and whoever is withheld at a low share is at a higher."""
    memory = make_memory()
    low, high = min(low, high), max(low, high)

    assert is_withheld(seed, memory, low) == is_withheld(seed, memory, low)
    assert is_withheld(seed, memory, low) <= is_withheld(seed, memory, high)


def test_sessions_withhold_different_memories() -> None:
    """The hash takes both: neither one session withholds all, nor is one memory withheld in all."""
    memories = [make_memory(str(n)) for n in range(40)]
    table = {(s, memory.id): is_withheld(s, memory, 0.5) for s in ("a", "b", "c") for memory in memories}

    assert 0 < sum(table.values()) < len(table)
    assert [table["a", memory.id] for memory in memories] != [table["b", memory.id] for memory in memories]


def test_nothing_moves_up_in_the_place_of_what_is_withheld() -> None:
    """The budget is filled first, so the shown ones are the same with and without the experiment, less the withheld."""
    memories = [make_memory(str(n)) for n in range(40)]
    everything = chosen(memories)
    halved = chosen(memories, InjectionSettings(withhold_share=0.5))
    withheld = {id_ for id_, reason in reasons(halved).items() if reason == "withheld"}

    assert withheld
    assert {memory.id for memory in halved.shown} | withheld == {memory.id for memory in everything.shown}


def test_one_memory_for_each_property() -> None:
    """Of two that speak of the same subject and slot the one of higher standing is shown."""
    low, high = make_memory("a"), make_memory("a", value="other", source=Source.EXPLICIT)
    selection = chosen([low, high])

    assert selection.shown == (high,)
    assert reasons(selection) == {low.id: "same_slot"}


def test_what_is_said_already_is_skipped_and_frees_its_place() -> None:
    """The request's own words count; the memory is logged."""
    said = make_memory("a", text="The tests are run with make check.")
    other = make_memory("b")
    selection = chosen([said, other], said=Said(["The tests are run with make check."], []))

    assert selection.shown == (other,)
    assert reasons(selection) == {said.id: "said"}


def test_what_does_not_fit_is_logged() -> None:
    """A budget of 120 tokens holds the frame and no line."""
    selection = chosen([make_memory()], InjectionSettings(withhold_share=0, session_block_tokens=120))

    assert selection.shown == ()
    assert reasons(selection) == {make_memory().id: "budget"}


def test_what_stands_beside_a_refusal_takes_no_room() -> None:
    """A tool's own trouble is in no block, also where the opening prompt is about it."""
    tool = make_memory("Glob", kind=Kind.HARNESS, trigger=failure_trigger())
    other = make_memory()
    selection = select(Snapshot.of([tool, other]), SCOPE, "claude-code", ALL, "s", NOW_NS, None, first=[tool, other])

    assert selection.shown == (other,)
