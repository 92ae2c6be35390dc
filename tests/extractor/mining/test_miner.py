from dataclasses import replace

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import USER_SCOPE, Kind, Source
from spanlore_extractor.mining.miner import Mined, mine_session
from support.told import Told, corrected, failing_tests

WINDOW_NS = 600 * 10**9


def mined(told: Told) -> Mined:
    return mine_session(told.session(), WINDOW_NS)


def test_everything_is_taken_or_dropped_with_a_reason() -> None:
    """Failures and messages: none is lost, each drop says why."""
    told = failing_tests("s").human("never use rtk").run("make", "make: *** no rule", 2)

    found = mined(told)

    assert [candidate.kind for candidate in found.candidates] == [Kind.USAGE, Kind.CORRECTION]
    assert [(drop.what, drop.text) for drop in found.dropped] == [("failure", "make"), ("message", "Run the tests.")]
    assert all(drop.reason and drop.span_id for drop in found.dropped)


def test_only_main_and_sub_agents_are_mined() -> None:
    """A title or a compaction call is not work."""
    assert mined(failing_tests("s", call_class=CallClass.COMPACTION)) == Mined((), ())


def test_a_sub_agents_prompt_is_no_persons() -> None:
    """Its failures count, its words don't."""
    told = corrected("s", "never use globals", call_class=CallClass.SUBAGENT)

    assert mined(told) == Mined((), ())
    assert len(mined(failing_tests("s", call_class=CallClass.SUBAGENT)).candidates) == 1


def test_remember_is_explicit_and_not_a_correction_too() -> None:
    """One message gives one candidate."""
    told = Told().human("go").run("ls").human("never mind. Please remember that we use tabs in all my projects")

    [candidate] = mined(told).candidates

    assert (candidate.kind, candidate.scope, candidate.is_statement) == (Kind.EXPLICIT, USER_SCOPE, True)
    assert candidate.quote == "we use tabs in all my projects"


def test_a_refused_call_is_named() -> None:
    """What was refused belongs to the correction."""
    told = Told().human("go").rejects("Bash", {"command": "git push"}, "never push without asking")

    [candidate] = mined(told).candidates

    assert candidate.failed == "Bash git push"
    assert candidate.is_statement


def test_the_same_session_gives_the_same() -> None:
    """Mining is a function of the session."""
    told = failing_tests("s").human("never use rtk")

    assert mined(told) == mined(told)
    assert mined(told) != mine_session(replace(told.session(), repository="other"), WINDOW_NS)


def test_what_was_confirmed_afterwards_is_raised() -> None:
    """A lesson before the push, not one after it; the explanation says by what."""
    told = failing_tests("s").run("git push", "done")
    told.run("pytest --fast tests", "error: unrecognized arguments: --fast", 2).run("pytest -x tests", "ok")
    first, *rest = mined(told).candidates

    assert first.confirmed == "`git push` succeeded" and first.confirmed in first.explanation
    assert [candidate.confirmed for candidate in rest] == [""]


def test_a_look_up_is_a_place() -> None:
    """Kept with what was searched for and where it was."""
    told = Told().human("go").run("rg NewClient", "src/client.py:3:def NewClient").run("cat src/client.py", "x")
    [candidate] = mined(told).candidates

    assert (candidate.kind, candidate.source) == (Kind.LOCATION, Source.REPEATED_LOOKUP)
    assert (candidate.subject, candidate.value) == ("NewClient", "src/client.py")
