from dataclasses import replace

from spanlore.memory.memory import Kind, Memory, Source, Status
from spanlore_extractor.memories.queue import waiting

ONE = Memory("m-1", Kind.USAGE, Source.FAILURE_DELTA, Status.CANDIDATE, "a/b/c", "text", session_count=1)


def test_suspicious_first_then_conflicts_then_worth() -> None:
    """What is shown, or at an end, does not wait, and one look-up is not worth a person's time."""
    memories = [
        ONE,
        replace(ONE, id="m-2", lost_calls=9),
        replace(ONE, id="m-3", note="conflicts with m-9, which counts more"),
        replace(ONE, id="m-4", status=Status.QUARANTINED),
        replace(ONE, id="m-5", status=Status.ACTIVE),
        replace(ONE, id="m-6", status=Status.FORGOTTEN),
        replace(ONE, id="m-7", source=Source.REPEATED_LOOKUP),
    ]
    assert [memory.id for memory in waiting(memories, 0)] == ["m-4", "m-3", "m-2", "m-1"]
