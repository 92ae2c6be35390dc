import pytest

from spanlore_extractor.mining.lookups import Lookup, find_lookups, read_path, searched_for
from spanlore_extractor.mining.session import ToolStep
from support.told import Told, steps_of

FOUND = "src/store/client.py:12:class StoreClient:"


def lookups(told: Told) -> list[Lookup]:
    return find_lookups(told.session().conversations[0])


def only(told: Told) -> ToolStep:
    [step] = [step for step in steps_of(told) if isinstance(step, ToolStep)]
    return step


def test_a_search_and_the_file_it_led_to() -> None:
    """Found by a tool or in the shell; the reason says so."""
    by_tool = (
        Told()
        .call("Grep", {"pattern": "StoreClient"}, FOUND)
        .call("Read", {"file_path": "/r/src/store/client.py"}, "x")
    )
    by_shell = Told().run("rg -n 'class StoreClient' src", FOUND).run("sed -n 1,40p src/store/client.py", "x")

    for told in (by_tool, by_shell):
        [found] = lookups(told)
        assert (found.term, found.path.rsplit("/", 1)[-1]) == ("StoreClient", "client.py")
        assert "StoreClient" in found.reason


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        (FOUND, "src/other.py"),
        ("\n".join(f"src/f{number}.py:1:StoreClient" for number in range(9)) + "\n" + FOUND, "src/store/client.py"),
        ("", "src/store/client.py"),
    ],
)
def test_what_is_no_look_up(shown: str, read: str) -> None:
    """Another file, a search that shows too many, one that shows none."""
    assert lookups(Told().run("rg StoreClient", shown).run(f"cat {read}", "x")) == []


@pytest.mark.parametrize(
    ("shown", "head", "is_place"),
    [
        (FOUND, "x", True),
        ("src/store/client.py", "x", True),
        ("src/store/client.py", "from .base import StoreClient", False),
        ("src/store/client.py", "import os\n\nclass StoreClient(Base):", True),
        ("src/base.py:3:class StoreClient:\nsrc/store/client.py:9:    made = StoreClient(url)", "x", False),
        ("src/store/client.py:4:func (s *Store) StoreClient(name string) error {", "x", True),
        ("src/store/client.py:4:export const StoreClient = (", "x", True),
    ],
)
def test_a_file_that_only_uses_a_name_is_not_its_place(shown: str, head: str, is_place: bool) -> None:
    """As the search shows it, or the head of the file; where neither shows a line with it, the file is believed."""
    assert bool(lookups(Told().run("rg StoreClient", shown).run("cat src/store/client.py", head))) is is_place


def test_a_later_read_is_not_the_searchs() -> None:
    """Two calls later at most."""
    told = (
        Told().run("rg StoreClient", FOUND).run("make", "ok").run("make test", "ok").run("cat src/store/client.py", "x")
    )

    assert lookups(told) == []


@pytest.mark.parametrize(
    ("command", "term"),
    [
        ("grep -rn 'def parse_header' src", "parse_header"),
        ("rg -n NewClient", "NewClient"),
        ("grep -r 'foo|bar' .", ""),
        ("grep -r x .", ""),
        ("grep -r 'import' .", ""),
        ("grep -rn 'alpha_one beta_two' .", ""),
        ("ls src", ""),
    ],
)
def test_terms(command: str, term: str) -> None:
    """One name that says something; alternatives, short words and keywords are none."""
    assert searched_for(only(Told().run(command, "x"))) == term


@pytest.mark.parametrize(
    ("command", "path"), [("cat a/b.py", "a/b.py"), ("cat a.py b.py", ""), ("ls a", ""), ("head -5 a/b.py", "a/b.py")]
)
def test_reads(command: str, path: str) -> None:
    """Exactly one file."""
    assert read_path(only(Told().run(command, "x"))) == path
