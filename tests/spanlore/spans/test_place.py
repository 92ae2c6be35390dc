"""Where a span stands."""

from __future__ import annotations

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Channel, Injected, Observation, Outcome, Place, Workplace


def test_an_unknown_workplace_is_in_no_repository() -> None:
    """Nothing may be injected where the repository is not known."""
    assert Workplace() == Workplace(run_id="", harness="unknown", repository="", source="wire")


def test_a_plain_observation_added_nothing() -> None:
    """One exchange of the main conversation, without tools, turns, human words or injection."""
    place = Place("s", False, "c" * 16, b"t" * 16, b"u" * 8, 0, 0)
    observation = Observation(place, Workplace())

    assert (observation.human, observation.tools, observation.turns, observation.injected) == ((), (), (), Injected())
    assert (place.call_class, place.attempt, place.is_compacted) == (CallClass.MAIN, 1, False)


def test_words_of_outcomes_and_channels() -> None:
    """They stand in columns as they are spelled here."""
    assert [outcome.value for outcome in Outcome] == ["success", "failure", "unknown", "rejected"]
    assert [channel.value for channel in Channel] == ["user_message", "rejection_reason", "queued"]
