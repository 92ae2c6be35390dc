from dataclasses import replace

from spanlore.memory.memory import Kind, Source, memory_id
from spanlore_extractor.mining.candidate import Candidate


def test_id_is_what_it_is_about_and_says() -> None:
    """Neither the session nor the evidence is in the id, so the same lesson is the same memory."""
    candidate = Candidate(
        Kind.USAGE, Source.FAILURE_DELTA, "github.com/a/b", "s1", "make", "slot", "value", (), 1, "why", harness="pi"
    )

    assert candidate.id == memory_id("github.com/a/b", Kind.USAGE, "make", "slot", "value", "pi")
    assert replace(candidate, session_id="s2", time_ns=5, quote="x").id == candidate.id
    assert replace(candidate, value="other").id != candidate.id
