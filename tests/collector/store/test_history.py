from dataclasses import replace

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore.memory.operations import Operation, Verb
from spanlore_collector.store.api_client import MemoryClient
from spanlore_collector.store.history import last_changes, memories_as_of, states
from spanlore_collector.store.reader import Reader
from support.collector_process import CollectorProcess

ONE = Memory("m-history-1", Kind.EXPLICIT, Source.EXPLICIT, Status.ACTIVE, "history/a/b", "one")
TWO = replace(ONE, id="m-history-2", text="two")


def test_changes_states_and_the_past(collector: CollectorProcess) -> None:
    """What was done at once is one list, newest first; every state is there, and what was recorded at a time."""
    client = MemoryClient(collector.url, collector.token)
    reader = Reader(collector.clickhouse_url, collector.token)
    client.apply([Operation(Verb.ADDED, ONE, "first"), Operation(Verb.ADDED, TWO, "second")])
    later = replace(ONE, text="other", version=2)
    client.apply([Operation(Verb.EDITED, later, "third", "user")])
    own = [batch for batch in last_changes(reader) if batch[0].id.startswith("m-history")]
    between_ns = own[0][0].at_ns - 1
    then = {item.id: item for item in memories_as_of(reader, between_ns)}
    now = {item.id: item for item in memories_as_of(reader, own[0][0].at_ns)}

    assert [[(item.id, item.version, item.verb) for item in batch] for batch in own] == [
        [("m-history-1", 2, "edited")],
        [("m-history-1", 1, "added"), ("m-history-2", 1, "added")],
    ]
    assert (own[0][0].actor, own[0][0].reason) == ("user", "third")
    assert states(reader, ["m-history-1"]) == {("m-history-1", 1): ONE, ("m-history-1", 2): later}
    assert (then["m-history-1"], now["m-history-1"]) == (ONE, later)
    assert "m-history-1" not in {item.id for item in memories_as_of(reader, own[1][0].at_ns - 1)}
