import pytest

from spanlore.spans.place import Channel
from spanlore_extractor.mining.corrections import Correction, find_corrections, is_durable
from support.told import Told, corrected
from support.turns import turns


def only(told: Told) -> Correction | str:
    """What the last human message is taken for: a correction, or the reason why it is none."""
    found, none = find_corrections(told.session().conversations[0])
    last = max(
        [*(item.step for item in found), *(item.step for item in none)], key=lambda step: (step.time_ns, step.ordinal)
    )
    correction = next((item for item in found if item.step is last), None)
    return correction or next(item.reason for item in none if item.step is last)


@pytest.mark.parametrize(
    ("words", "signal"),
    [
        ("no, the block should stay as is", "negates"),
        ("that's not the entry point. see main.ts", "contradicts"),
        ("the first part is not correct, both modes write it", "contradicts"),
        ("I mean the licence types", "meant"),
        ("you missed the null case", "blames"),
        ("again, that file is generated", "repeats"),
        ("always run the tests with make check", "standing rule"),
        ("we should not touch the default config", "forbids"),
        ("please don't rewrite the changelog", "forbids"),
        ("well, we use tabs for that", "our way"),
        ("i don't like the heuristic", "dislikes"),
        ("the output must stop at a newline", "demands"),
        ("wait, somebody else is editing that file", "halts"),
        ("it points at tool, not usr", "contrasts"),
        ("you removed the null check", "blames"),
        ("this should not be changed", "says how it should be"),
        ("wouldn't it be better to use the library for that?", "asks why not otherwise"),
        ("is there no library for this??", "asks why not otherwise"),
        ("can we stick to the old layout?", "asks why not otherwise"),
        ("I think you have old information, that folder is gone, or is it right?", "blames"),
        ("wrong directory", "contradicts"),
        ("the total is wrong", "wrong"),
        ("this is way too verbose", "too much"),
        ("hmm, overkill", "too much"),
        ("you're not following the layout", "blames"),
        ("you only fixed the first case", "blames"),
        ("I didn't ask you to commit", "not asked for"),
        ("I don't see why we need a factory here", "not asked for"),
        ("this doesn't handle the empty case", "falls short"),
        ("it still points at the old host", "falls short"),
        ("Medium Severity\nThe lock is taken twice", "a review says"),
        ("it lacks unit tests. Consider adding some", "a review says"),
        ("the colours were softer, make it like it was before", "restores"),
        ("please follow the existing pattern", "follow it"),
        ("you need to escape the quotes on Windows", "obliges"),
        ("you can't import from src there", "obliges"),
        ("put it into a module rather than a class", "instead"),
        ("I'd rather have the old name", "instead"),
        ("there is already a function for that", "already there"),
        ("that would break existing users", "warns"),
        ("no need for a new dependency here", "not needed"),
        ("let's not introduce another layer", "let's not"),
        ("just use curl", "just so"),
        ("please use British spelling", "just so"),
        ("the header has to come first, not the body", "contrasts"),
        ("that isn't what I had in mind", "contradicts"),
        ("the tests should fail first", "says how it should be"),
        ("it's supposed to be idempotent", "says how it should be"),
        ("actually no, keep the old behaviour", "negates"),
        ("you can just call the existing function", "obliges"),
        ("I would expect this to be cached", "expected otherwise"),
        ("that's a regression, it used to be sorted", "expected otherwise"),
        ("hm, the columns are swapped", "expected otherwise"),
        ("make sure you ask before deleting anything", "asks for care"),
        ("please leave out the emojis", "asks for care"),
        ("the old behaviour was fine, restore it", "asks for care"),
        ("but the global one was the problem, the local one worked!?", "asks why not otherwise"),
        ("shouldn't that be in the config?", "asks why not otherwise"),
    ],
)
def test_words_that_correct(words: str, signal: str) -> None:
    """Every trigger has a case; the person's words are kept verbatim."""
    found = only(corrected("s", words))

    assert isinstance(found, Correction), found
    assert signal in found.signals
    assert found.quote == words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("great, now commit", "praise or assent"),
        ("omfg that's it, now it renders", "praise or assent"),
        ("hm, the export works now", "says that it works"),
        ("actually, let's also add a flag", "the person's own doing or change of mind"),
        ("sorry, I meant the other one, not this", "the person's own doing or change of mind"),
        ("i removed them", "the person's own doing or change of mind"),
        ("I allow you to commit with --no-verify", "a permission"),
        ("eval this feedback: never use globals", "asks for an assessment"),
        ("no problem", "a polite no"),
        ("no rush", "a polite no"),
        ("commit and push", "tells the agent to go on"),
        ("is that not the same?", "a question"),
        ("why don't we cache it?", "a question"),
        ("also, sort the issues by name", "a request"),
        ("Implement the following plan:\n\nnever print", "an accepted plan"),
        ("--- FAIL: TestA\nFAIL x/y.go:1\n❯ make\n--- FAIL: TestB", "pasted output"),
        ("revert the last commit", "nothing in it, or around it, corrects anything"),
        ("never " + "x" * 1600, "too long to be a correction"),
        ("use the second approach", "nothing in it, or around it, corrects anything"),
        ("never mind", "nothing in it, or around it, corrects anything"),
        ("the page is blank", "nothing in it, or around it, corrects anything"),
        ("the app crashes when I click on save", "nothing in it, or around it, corrects anything"),
        ("something completely wrong happened on my machine", "nothing in it, or around it, corrects anything"),
        ("add a page; the form should have a save button", "nothing in it, or around it, corrects anything"),
        ("create a script that uses curl instead of wget", "nothing in it, or around it, corrects anything"),
        ("I wouldn't be surprised if it is slow", "nothing in it, or around it, corrects anything"),
        ("Run echo x\n1. Never do that\nError: Process completed with exit code 1.", "pasted output"),
    ],
)
def test_words_that_only_look_so(words: str, reason: str) -> None:
    """The false-positive filter runs before any trigger."""
    assert only(corrected("s", words)) == reason


def test_nothing_before_the_agent_acts() -> None:
    """The task itself corrects nothing."""
    assert only(Told().human("never use globals here")) == "the agent has not done anything yet"


def test_a_no_to_a_question_is_an_answer() -> None:
    """Declining what the agent offered is no correction; contradicting it is."""
    offered = Told().human("go").run("ls").agent("Shall I set it?")
    also = Told().human("go").run("ls").agent("Shall I set it?")

    assert only(offered.human("no don't set it")) == "nothing in it, or around it, corrects anything"
    assert isinstance(only(also.human("that is not the right file")), Correction)


def test_an_answer_may_object_after_its_first_sentence() -> None:
    """Agents end with a question most of the time; what follows the answer to it counts, and so do real objections."""
    asked = Told().human("go").run("ls").agent("Done. Shall I commit?")
    again = Told().human("go").run("ls").agent("Done. Shall I commit?")
    offer = Told().human("go").run("ls").agent("Done. Shall I commit?")

    assert isinstance(only(asked.human("no. And don't add comments to every line")), Correction)
    assert isinstance(only(again.human("do we need that file at all then?")), Correction)
    assert isinstance(only(offer.human("can we leave it for later?")), str)


def test_a_new_task_describes_what_is_to_be() -> None:
    """Words that object to what was done only describe, in a new task; what forbids still holds."""
    assert isinstance(only(corrected("s", "write a parser, not a regex")), str)
    assert isinstance(only(corrected("s", "write a parser and never use regexes")), Correction)


def test_a_refusal_with_a_reason_needs_no_words() -> None:
    """The wire says that it corrects, and which call."""
    told = Told().human("go").rejects("Bash", {"command": "git push"}, "is the branch even right?")

    found = only(told)

    assert isinstance(found, Correction)
    assert found.signals[0] == "refused a tool call with a reason"
    assert found.follows is not None
    assert found.follows.command == "git push"


def test_a_refusal_that_only_says_go_on() -> None:
    """`retry` is no reason; nor is what dismisses a question of the agent."""
    again = Told().human("go").rejects("Bash", {"command": "git push"}, "retry committing the changes")
    dialogue = Told().human("go").rejects("AskUserQuestion", {}, "I want to clarify these questions first")

    assert only(again) == "tells the agent to go on"
    assert only(dialogue) == "a question of the agent was turned back"


def test_an_interruption_that_states_something() -> None:
    """Stopping the agent to say how things are corrects it; stopping it to ask does not."""
    said = Told().human("go").run("ls").human("the backend is in ../entiredb", interrupting=True)
    asked = Told().human("go").run("ls").human("is the backend in ../entiredb?", interrupting=True)

    found = only(said)

    assert isinstance(found, Correction)
    assert found.signals == ("interrupted the agent",)
    assert only(asked) == "a question"


def test_a_text_sent_twice_counts_once() -> None:
    """Re-sent prompts are noise."""
    told = corrected("s", "never use globals").run("ls").human("never use globals")

    assert only(told) == "the same text was sent before"


def test_words_typed_while_it_works_count() -> None:
    """Queued messages are messages."""
    assert isinstance(
        only(Told().human("go").run("ls").human("stop committing everything", Channel.QUEUED)), Correction
    )


@pytest.mark.parametrize(
    "words",
    [
        "always run the tests with `make check`",
        "No, don't call unittest directly. Always run the tests with `make check` in this repository.",
        "never stash the working tree",
        "we don't use if-else chains",
        "no deprecation aliases!",
        "from now on, write the tests first",
        "stop committing everything",
    ],
)
def test_standing_rules(words: str) -> None:
    """Stated as holding from now on."""
    assert is_durable(words)


@pytest.mark.parametrize(
    "words",
    [
        "no, dimGray should be that",
        "don't check this in",
        "no I mean the other one",
        "make the url always visible",
        "that should never happen",
        "is it always like that?",
        "please use the format we use for the diagrams above",
        "stop talking",
        "never " + "x" * 400,
    ],
)
def test_things_said_for_once(words: str) -> None:
    """About this one thing, a feature, a bug, a question, or too long to be a rule."""
    assert not is_durable(words)


@pytest.mark.parametrize(
    "words", ["delete the custom theme now", "oh, and it would be nice to have colours", "read the README first"]
)
def test_an_interruption_for_another_task(words: str) -> None:
    """The agent is stopped, and did nothing wrong."""
    assert isinstance(only(Told().human("go").run("ls").human(words, interrupting=True)), str)


def test_blame_before_what_was_pasted_counts() -> None:
    """The first line is the person's, whatever follows it."""
    pasted = "\n".join(f"296 +line {number}" for number in range(8))
    found = only(corrected("s", f"again, this is not correct:\n{pasted}"))

    assert isinstance(found, Correction) and "repeats" in found.signals


@pytest.mark.parametrize(("is_held_out", "min_precision", "min_recall"), [(False, 0.95, 0.9), (True, 0.95, 0.83)])
def test_turns_of_many_styles(is_held_out: bool, min_precision: float, min_recall: float) -> None:
    """Hundreds of messages that the rules were not written from, in every agent's files. What they gave before they
    were looked at, and so what other people's sessions may be expected to give, is in extractor/DESIGN.md."""
    found = [(turn, turn.is_found()) for turn in turns() if turn.is_held_out is is_held_out]
    right = sum(turn.is_correction for turn, is_found in found if is_found)
    assert right / sum(is_found for _, is_found in found) >= min_precision
    assert right / sum(turn.is_correction for turn, _ in found) >= min_recall


def said_then(words: str, reply: str, *, admits: bool = True) -> bool:
    """Whether `words` are taken for a correction where the agent answers with `reply`, one that `admits` things."""
    told = Told().human("Run the tests.").run("pytest -q", "3 passed").agent("They pass.").human("you ran the old ones")
    told.agent("You're right." if admits else "Let me see.").run("make test", "3 passed").agent("They pass.")
    found, _ = find_corrections(told.human(words).agent(reply).session().conversations[0])
    return any(item.step.text == words for item in found)


@pytest.mark.parametrize(
    "words",
    [
        "the bullets should be the same as in the code",
        "I think the names are too long",
        "the export doesn't contain the totals",
        "the timeout needs to be in the config",
        "on my phone it zooms the page instead of the map",
        "Config, not state. " + "We read it once per run and hand it down to the handlers. " * 4,
    ],
)
def test_what_only_describes_needs_the_agents_word(words: str) -> None:
    """How a thing is or should be is told in reports, plans and wishes as well; an agent that was corrected says so."""
    assert said_then(words, "You're right, let me change that.")
    assert not said_then(words, "Let me look at the styles first.")
    assert isinstance(only(corrected("s", words)), Correction)


@pytest.mark.parametrize(
    "words",
    ["no, the other directory", "don't touch the lockfile", "you broke the build", "that is not the entry point"],
)
def test_plain_objections_need_no_word_of_the_agent(words: str) -> None:
    """Not every agent admits anything."""
    assert said_then(words, "Let me look at the styles first.")


def test_a_standing_rule_needs_no_word_of_the_agent() -> None:
    """However long what stands around it, and whatever the agent makes of it."""
    words = (
        "I like the first one. " * 6 + "\nThe wrapper is what the flag writes; in this repo we commit what it writes."
    )

    assert said_then(words, "Perfect! So the wrapper it is.")


def test_what_the_agent_concedes() -> None:
    """A statement with no word that objects corrects where the agent gives the person right; an idea, a question and
    an answer don't."""
    asked = Told().human("go").run("ls").agent("Shall I use the old colour?")

    assert said_then("in phase three it says that phase two is done", "Good catch, that is an error in the plan.")
    assert not said_then("I think we need tokens for the border", "You're right, that makes them themeable.")
    assert not said_then("how does the export find the rows", "You're right to ask.")
    assert isinstance(only(asked.human("that seems to be the old one").agent("You're right.")), str)


def test_a_message_sent_again_with_more_counts_once() -> None:
    """Stopped to finish typing it: the whole one is the message."""
    told = Told().human("go").run("ls").human("no, print the").human("no, print the name of the session")
    found, none = find_corrections(told.session().conversations[0])

    assert [item.step.text for item in found] == ["no, print the name of the session"]
    assert "sent again at once, with more" in {item.reason for item in none}


def test_an_interruption_with_data_or_a_report() -> None:
    """Stopping the agent to hand it many lines, or to report a fault, says nothing of what it did."""
    lines = Told().human("go").run("ls").human("\n".join(f"row {n} is a{n}b" for n in range(8)), interrupting=True)
    report = Told().human("go").run("ls").human("the export page is blank since today", interrupting=True)

    assert isinstance(only(lines), str)
    assert isinstance(only(report.agent("Found it!")), str)
