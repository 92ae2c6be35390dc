"""Which turns of a file the wire saw."""

from __future__ import annotations

from spanlore.transcripts.events import Mark, Said, Transcript
from spanlore_proxy.importers.captured import TOLERANCE_NS, Captured, Prompt, match, prompts_of

HOUR_NS = 3600 * 10**9


def test_prompts_are_the_persons_and_redacted() -> None:
    """What the agent itself says on the user's side is none; nor is what has no time, or a sub-agent's."""
    events = (
        Said(Mark(0, time_ns=5), ("go on, secret",)),
        Said(Mark(1, time_ns=6), ("<system-reminder>x</system-reminder>",)),
        Said(Mark(2), ("without a time",)),
        Said(Mark(3, time_ns=7, agent="a"), ("a sub-agent's",)),
    )
    found = prompts_of(Transcript("gemini-cli", events=events), lambda text: (text.replace("secret", "*"), 1))

    assert found == [Prompt("go on, *", 5)]


def test_turns_are_told_by_words_and_time() -> None:
    """A turn lasts until the next prompt; what was before the first belongs to none."""
    typed = [Prompt("a", HOUR_NS), Prompt("b", 2 * HOUR_NS), Prompt("a", 3 * HOUR_NS)]
    found = match(typed, [Prompt("b", 2 * HOUR_NS + TOLERANCE_NS, "s"), Prompt("a", 3 * HOUR_NS + HOUR_NS, "t")])

    assert found.session_id == "s"
    assert [found.covers(at) for at in (0, HOUR_NS, 2 * HOUR_NS, 3 * HOUR_NS - 1, 3 * HOUR_NS)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert not Captured().covers(HOUR_NS)
