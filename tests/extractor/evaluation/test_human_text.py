import pytest

from spanlore_extractor.evaluation.human_text import rejection_reason, typed


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("fix it\n<system-reminder>never say so</system-reminder>", "fix it"),
        ("<command-name>/clear</command-name>", ""),
        ("This session is being continued from a previous conversation", ""),
        ("Operation stopped by hook: another session", ""),
        ("# AGENTS.md instructions for /x", ""),
        ("no, use tabs", "no, use tabs"),
    ],
)
def test_only_what_was_typed(text: str, left: str) -> None:
    """Reminders, commands, summaries and hook text are not a person's."""
    assert typed(text) == left


def test_rejection_reason() -> None:
    """The words after the boilerplate, and before the newer boilerplate."""
    head = "The user doesn't want to proceed. To tell you how to proceed, the user said:\n"
    note = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention"

    assert rejection_reason(head + "use a switch" + note) == "use a switch"
    assert rejection_reason("The user doesn't want to proceed. STOP") == ""
