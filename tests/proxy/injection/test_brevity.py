"""Fewer words where the whole text does not fit; never half a command."""

from __future__ import annotations

from collections.abc import Iterable

from spanlore.memory.memory import Memory, Source
from spanlore_proxy.injection import wording
from spanlore_proxy.injection.brevity import fit_most, remedy, without_line
from support.injecting import NOW_NS, SCOPE, Rig, Talk, failure_trigger, log_of, make_memory

LONG = "python3 -m unittest discover -s {0}/tests"
TEXT = (
    "`" + LONG + "` failed with “ModuleNotFoundError: No module named '{0}_583'”;"
    " `PYTHONPATH=src/{0}583 " + LONG + "` worked instead."
)


def mined(name: str, **changes: object) -> Memory:
    return make_memory(name, text=TEXT.format(name), slot=name, **changes)


def test_what_is_left_out() -> None:
    """First the line of the failure, then what failed; what worked stays whole."""
    assert without_line(mined("a")).text == (
        "`python3 -m unittest discover -s a/tests` failed;"
        " `PYTHONPATH=src/a583 python3 -m unittest discover -s a/tests` worked instead."
    )
    assert remedy(mined("a")).text == "`PYTHONPATH=src/a583 python3 -m unittest discover -s a/tests` worked instead."


def test_a_persons_words_are_never_shortened() -> None:
    """Theirs, and what they edited."""
    for memory in (mined("a", source=Source.CORRECTION), mined("a", is_edited=True)):
        assert without_line(memory) is memory
        assert remedy(memory) is memory


def test_only_where_that_lets_more_in() -> None:
    """Whole texts as long as all fit; else the longest form in which most do."""
    memories = [mined(name) for name in ("search", "ledger", "billing", "stock", "orders")]

    def fit(budget: int) -> list[Memory]:
        def into(some: Iterable[Memory]) -> tuple[list[Memory], list[Memory]]:
            return wording.fit_session_block(some, SCOPE, NOW_NS, budget)

        return fit_most(memories, into, without_line)[0]

    assert fit(2000) == memories
    assert fit(470) == [without_line(memory) for memory in memories[:3]]
    assert len(wording.fit_session_block(memories, SCOPE, NOW_NS, 470)[0]) < 3


def test_a_long_lesson_is_hinted_beside_its_failure() -> None:
    """Its whole text is over the budget of a hint; what worked is not, and that is what helps there."""
    output = "Exit code 1\nModuleNotFoundError: No module named 'search_583'"
    command = LONG.format("search")
    rig, talk = Rig([mined("search", trigger=failure_trigger(command, output, 1))]), Talk()
    rig.send(talk.ask("run the tests"))
    prepared = rig.send(talk.fail(output, command))
    hints = [one for one in log_of(prepared) if one["kind"] == "failure_hint"]

    assert [one["state"] for one in hints] == ["shown"]
    assert b"`PYTHONPATH=src/search583 python3 -m unittest discover -s search/tests` worked instead" in prepared.body
