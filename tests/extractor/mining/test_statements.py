import pytest

from spanlore_extractor.mining.corrections import Correction, find_corrections
from spanlore_extractor.mining.hygiene import sentences
from spanlore_extractor.mining.statements import STATES, states_how_it_is
from support.told import Told, corrected


@pytest.mark.parametrize(
    "words",
    [
        "the id comes from the header of the request",
        "we throw in this layer, the router maps errors",
        "it's a peer dependency of the plugin",
        "types go into the schema file",
        "the import order matters here, see the comment",
    ],
)
def test_how_things_are_to_be(words: str) -> None:
    """Said flatly, after the agent reported, it corrects."""
    assert states_how_it_is([words])
    [found] = find_corrections(corrected("s", words).session().conversations[0])[0]
    assert isinstance(found, Correction)
    assert found.signals == (STATES,)


@pytest.mark.parametrize(
    "words",
    [
        "the page is blank",
        "the build is broken on main since yesterday",
        "that explains it, it was the cache",
        "the tests pass on my machine",
        "i have to leave, the rest is for tomorrow",
        "add a page that has a save button",
        "the new endpoint is up. write a client for it",
        "it is late",
        "the customer wrote: you never called us back",
        "is the port free on that host",
        "the port is free on that host, right?",
        "md links are actually the lighter grey",
        "here is the output of the second run",
        "the " + "very " * 120 + "long text is one",
    ],
)
def test_what_other_statements_are_like(words: str) -> None:
    """Symptoms, assent, tasks, what people tell of themselves, questions, and what is too short or too long."""
    assert not states_how_it_is(sentences(words))


def test_not_in_an_answer() -> None:
    """What answers the agent's question only answers it."""
    asked = Told().human("go").run("ls").agent("Which file holds the port?")

    assert not find_corrections(asked.human("the port is in config/net.toml").session().conversations[0])[0]


def test_nothing_takes_long() -> None:
    """No text makes the pattern run away."""
    for text in ("a " * 200, "the x " * 60, "no " * 130, "we " * 130):
        states_how_it_is([text])
