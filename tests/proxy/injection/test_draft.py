"""A plan in the making."""

from spanlore.genai.inference import CallClass
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.injection.draft import Draft
from spanlore_proxy.injection.facts import RequestFacts
from spanlore_proxy.injection.ledger import Entry, Placement, PlacementKind
from support.injecting import NOW_NS, SCOPE, make_memory

FACTS = RequestFacts("c", False, "s", CallClass.MAIN, "claude-code", SCOPE, "run", False, False, True)


def draft() -> Draft:
    """Nothing decided yet."""
    return Draft(FACTS, Snapshot(), InjectionSettings(), NOW_NS, Entry("c"))


def test_an_added_hint_is_new_and_changes_the_entry() -> None:
    """It stands behind the ones before."""
    made = draft()
    for anchor in "ab":
        made.add(Placement(PlacementKind.TASK_HINT, anchor, "text", ("m",)))

    assert [hint.anchor for hint in made.entry.hints] == ["a", "b"]
    assert (made.new, made.is_changed) == ({"a", "b"}, True)


def test_the_same_entry_is_no_change() -> None:
    """Nothing is saved for it."""
    made = draft()
    made.change(Entry("c"))

    assert not made.is_changed


def test_withheld_is_told_only_where_something_is_withheld() -> None:
    """And never over a reason that was there before."""
    none, some, late = draft(), draft(), draft()
    late.skipped = "late"
    none.is_withheld_only([])
    some.is_withheld_only([make_memory("a")])
    late.is_withheld_only([make_memory("a")])

    assert (none.skipped, some.skipped, late.skipped) == ("nothing", "withheld", "late")
