"""Events of a transcript."""

from __future__ import annotations

from spanlore.genai.messages import Text
from spanlore.transcripts.events import Answered, Mark, Transcript


def test_events_are_values() -> None:
    """Equal events are equal, so that reading twice gives the same transcript."""
    one = Transcript("pi", events=(Answered(Mark(1), Text("a"), "x"),))
    other = Transcript("pi", events=(Answered(Mark(1), Text("a"), "x"),))

    assert one == other and hash(one.events) == hash(other.events)
