import pytest

from spanlore_extractor.mining.replies import concedes, ever_concedes
from spanlore_extractor.mining.session import Step
from support.told import Told, corrected, steps_of


def behind(told: Told) -> tuple[Step, ...]:
    """The steps behind the last human message of three that `corrected` tells."""
    return tuple(steps_of(told))[4:]


@pytest.mark.parametrize(
    "reply",
    [
        "You're right. The config is read twice.",
        "You’re absolutely right! Let me undo that.",
        "Ah, you are correct, it is appended.",
        "Good catch. The guard is missing.",
        "Fair point, I will keep the interface.",
        "I apologize for the confusion.",
        "Sorry about that. Reverting.",
        "Right, the subject is `Checkpoint`, no trailer.",
        "I misread the schema.",
        "Tienes razón, lo cambio.",
        "你说得对，我改一下。",
    ],
)
def test_a_reply_that_concedes(reply: str) -> None:
    """The agent says that the person is right, or that it was wrong, in its first words."""
    assert concedes(behind(corrected("s", "the id is a string").agent(reply))) is True


@pytest.mark.parametrize(
    "reply",
    [
        "Great question! The hooks run in order.",
        "Good idea. I'll add the field.",
        "Found it! The index was off.",
        "Right away.",
        "I see the issue. Let me fix it.",
        "Done. All tests pass. You're right to test it twice.",
    ],
)
def test_a_reply_that_does_not(reply: str) -> None:
    """To a question, a wish or a report the agent says other things, however friendly."""
    assert concedes(behind(corrected("s", "the id is a string").agent(reply))) is False


def test_a_reply_that_is_not_there() -> None:
    """Nothing is known where the agent said nothing, or the person spoke before it did."""
    assert concedes(()) is None
    assert concedes(behind(corrected("s", "the id is a string").run("ls"))) is None
    assert concedes(behind(corrected("s", "the id is a string").human("stop").agent("You're right."))) is None


def test_an_agent_that_admits_things() -> None:
    """It did so once, in its first words after a person's; what it says of itself later is no such word."""
    told = (
        Told().human("go").agent("Done.").human("not so").agent("Let me see.").agent("You're right to ask, it failed.")
    )

    assert not ever_concedes(steps_of(told))
    assert ever_concedes(steps_of(told.human("the other").agent("You're right.")))
