"""Units and opportunities from a real store."""

from spanlore.memory.memory import Evidence, EvidenceRole, Kind, Memory, Source
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.effect.reading import contradicted, read_counts, read_exposure, read_units
from support.collecting import Collecting
from support.effects import START_NS, session_spans
from support.injecting import failure_trigger, make_memory


def keep(collector: Collecting, name: str, **changes: object) -> Memory:
    """A memory in the store."""
    memory = make_memory(name, **{"scope": f"example.org/{name}", "trigger": failure_trigger(), **changes})
    collector.client.apply([Operation(Verb.ADDED, memory)])
    return memory


def test_a_session_is_a_unit_once_with_what_came_after(collector: Collecting) -> None:
    """Its arm, whether the signature came back, and whether the named command was used; a skipped one is no unit."""
    memory = keep(collector, "units")
    for session, state, fails, commands in (
        ("units-1", "shown", False, [memory.value + " -q"]),
        ("units-2", "shown", True, []),
        ("units-3", "withheld", True, ["ls"]),
        ("units-4", "skipped", True, []),
    ):
        collector.send(session_spans(session, memory, state, fails=fails, commands=commands, reason="said"))
    units = read_units(collector.reader, [memory], [memory.id])

    assert [(u.session_id, u.is_shown, u.has_recurred, u.is_used) for u in units] == [
        ("units-1", True, False, True),
        ("units-2", True, True, False),
        ("units-3", False, True, False),
    ]


def test_a_correction_recurs_when_it_is_stated_again(collector: Collecting) -> None:
    """By a later statement in that session that mining cites."""
    changes = {"kind": Kind.CORRECTION, "source": Source.CORRECTION, "trigger": make_memory().trigger}
    memory = keep(collector, "said", **changes)
    for session in ("said-1", "said-2"):
        collector.send(session_spans(session, memory))
    again = Evidence("t" * 32, "s" * 16, "said-2", EvidenceRole.STATEMENT, START_NS + 9_000_000_000)
    earlier = Evidence("t" * 32, "r" * 16, "said-1", EvidenceRole.STATEMENT, START_NS - 1)
    known = make_memory("said", evidence=(again, earlier), **{"scope": memory.scope, **changes})
    units = read_units(collector.reader, [known], [memory.id])

    assert [unit.has_recurred for unit in units] == [False, True]


def test_opportunities_and_exposure_are_counted(collector: Collecting) -> None:
    """By kind, state and reason; contradicted ones are told for review."""
    memory = keep(collector, "counts")
    collector.send(session_spans("counts-1", memory))
    collector.send(session_spans("counts-2", memory, "skipped", reason="contradicted"))
    counts = read_counts(collector.reader, [memory.id])

    assert [(row["state"], row["reason"], row["requests"], row["line_tokens"]) for row in counts] == [
        ("shown", "", 1, 25),
        ("skipped", "contradicted", 1, 0),
    ]
    assert read_exposure(collector.reader, [memory.id]) == {memory.id: 1}
    assert [row["sessions"] for row in contradicted(collector.reader) if row["memory_id"] == memory.id] == [1]
