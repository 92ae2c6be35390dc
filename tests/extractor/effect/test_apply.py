"""The rules against a real store."""

import orjson

from spanlore.memory.memory import Status
from spanlore.memory.operations import Operation, Verb
from spanlore_extractor.effect.apply import EFFECTS_KEY, apply_effects
from support.collecting import Collecting
from support.effects import session_spans
from support.injecting import failure_trigger, make_memory


def test_what_was_measured_is_done_once(collector: Collecting) -> None:
    """A memory on trial that helps becomes active, one that harms is retired; the second run changes nothing."""
    good, bad = (
        make_memory(f"apply{name}", scope="example.org/apply", trigger=failure_trigger(), status=Status.TRIAL)
        for name in ("good", "bad")
    )
    collector.client.apply([Operation(Verb.ADDED, good), Operation(Verb.ADDED, bad)])
    spans = []
    for memory in (good, bad):
        for number in range(40):
            state = "shown" if number % 2 else "withheld"
            fails = (state == "withheld") == (memory is good)
            spans += session_spans(f"apply{memory.id}-{number}", memory, state, fails=fails)
    collector.send(spans)
    first = {
        operation.memory.id: operation.memory for operation in apply_effects(collector.reader, collector.client, 7)
    }
    again = apply_effects(collector.reader, collector.client, 8)

    measured = orjson.loads(collector.client.mining_state(EFFECTS_KEY) or "")

    assert measured["measured_at_ns"] == 8
    assert measured["effects"][good.id]["verdict"] == "helps"
    assert measured["effects"][good.id]["withheld"] == [20, 20]
    assert measured["effects"][good.id]["interval"][1] < 0
    assert first[good.id].status is Status.ACTIVE
    assert first[bad.id].status is Status.RETIRED
    assert not [operation for operation in again if operation.memory.id in (good.id, bad.id)]
    assert (found := collector.client.memory(bad.id)) is not None
    assert found.status is Status.RETIRED
