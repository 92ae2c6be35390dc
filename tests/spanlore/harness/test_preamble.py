"""What a client made up in front of the conversation."""

from typing import Any

import pytest

from spanlore.genai.inference import CallClass
from spanlore.harness.preamble import opening_text, preamble, without_reminder
from spanlore_proxy.conversation.tracker import Observed
from support.conversing import ends, place, said
from support.other_agents import OtherAgent


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


EXAMPLES = [
    user("Change get_factorial() to use math.factorial"),
    assistant("To make this change we need to modify `mathweb/flask/app.py`"),
    user("I switched to a new code base. Please don't consider the above files or try to edit them any longer."),
    assistant("Ok."),
]
FILES = [
    user("I have *added these files to the chat* so you can go ahead and edit them.\n\na.py"),
    assistant("Ok, any changes I propose will be to those files."),
]


def repo(names: str) -> list[dict[str, Any]]:
    text = f"Here are summaries of some files present in my git repository.\nDo not propose changes\n{names}"
    return [user(text), assistant("Ok, I won't try and edit those files without asking first.")]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 0),
        ([user("go")], 0),
        ([*EXAMPLES, user("go")], 4),
        ([*EXAMPLES, *repo("a.py"), *FILES, user("go")], 8),
        ([*repo("a.py"), user("go"), assistant("Ok."), user("more"), assistant("Ok.")], 2),
        ([user("I have *added these files to the chat*")], 0),
        (EXAMPLES[:3], 3),
        ([{"role": "user"}, {"role": "user", "content": [{}]}], 0),
    ],
)
def test_what_aider_made_up(messages: list[dict[str, Any]], expected: int) -> None:
    """Its examples and what it shows with the answers it gives itself; a person's talk is none of it, and no other
    agent's is."""
    assert preamble(messages, "aider") == expected
    assert preamble(messages, "pi") == 0


def test_the_opening_is_what_was_said_first() -> None:
    """Whatever is shown around it, and though rules are glued to it while it is the newest."""
    rules = "\n\n# *SEARCH/REPLACE block* Rules:\n\nEvery block"
    first = [*EXAMPLES, *repo("a.py"), *FILES, user("fix it" + rules)]
    later = [*EXAMPLES, *repo("b.py"), user("fix it"), assistant("done"), *FILES, user("more" + rules)]

    assert opening_text(first, "aider") == opening_text(later, "aider") == "fix it"
    assert opening_text(EXAMPLES, "aider") == ""
    assert opening_text(first, "pi") is None
    assert without_reminder("what # File editing rules: are") == "what # File editing rules: are"


def test_a_session_with_aider_is_one_conversation() -> None:
    """Turns are counted from what was really said, though the map changes and the files move."""
    aider = OtherAgent("aider")
    first = aider.chat([*EXAMPLES, *repo("a.py"), *FILES, user("fix it")], "I fixed it.")
    second = aider.chat(
        [*EXAMPLES, *repo("a.py b.py"), user("fix it"), assistant("I fixed it."), *FILES, user("and test it")],
        "It works.",
    )

    def where(observed: Observed) -> tuple[str, CallClass]:
        return observed.observation.place.conversation, observed.observation.place.call_class

    assert where(first) == where(second) and where(first)[1] is CallClass.MAIN
    assert [place(one)[0] for one in (first, second)] == [0, 1]
    assert (said(first), said(second)) == ([("user_message", "fix it")], [("user_message", "and test it")])
    assert (ends(first), ends(second)) == ([(0, "completed")], [(1, "completed")])
    assert first.observation.turns[0].inferences == 1


def test_a_summary_continues_the_session() -> None:
    """aider sums up what went before, in its place; in its run it is the same session, compacted."""
    aider = OtherAgent("aider")
    first = aider.chat([*EXAMPLES, user("fix it")], "I fixed it.")
    summary = user("I spoke to you previously about a number of things.\nWe fixed it.")
    later = aider.chat([*EXAMPLES, summary, assistant("Ok."), user("and test it")], "It works.")

    assert later.observation.place.conversation == first.observation.place.conversation
    assert later.observation.place.is_compacted
    assert said(later) == [("user_message", "and test it")]
