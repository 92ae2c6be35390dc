from spanlore_extractor.mining.summary import MAX_GOAL_CHARS, MAX_ITEMS, summarise
from support.told import Told

WINDOW_NS = 600 * 10**9


def test_a_session() -> None:
    """Everything is the session's own words and calls; what nothing answered is open."""
    told = Told().human("make the tests pass")
    told.run("rtk bun test", "error: unrecognized subcommand 'bun'", 2).run("bun test", "3 pass")
    told.call("Write", {"file_path": "/r/a.py", "content": "x"}, "ok").run("make check", "make: *** No rule", 2)
    told.human("no, don't touch the config").agent("Done. Shall I also push it?")
    found = summarise(told.session(), WINDOW_NS)

    assert (found.goal, found.task) == ("make the tests pass", "no, don't touch the config")
    assert found.decisions == ("no, don't touch the config",)
    assert [path.rsplit("/", 1)[-1] for path in found.files] == ["a.py"]
    assert [(item.error, item.fix, item.type) for item in found.resolved] == [
        ("error: unrecognized subcommand 'bun'", "bun test", "usage")
    ]
    assert found.unresolved == ("make: *** No rule",)
    assert found.questions == ("Shall I also push it?",)
    assert found.counts == {"messages": 2, "tool_calls": 4, "failures": 2}
    assert found == summarise(told.session(), WINDOW_NS)


def test_a_long_session_is_cut_and_says_so() -> None:
    """The first items of a sort, and how many are not told."""
    told = Told().human("x" * 400)
    for number in range(MAX_ITEMS + 3):
        told.call("Write", {"file_path": f"/r/f{number}.py", "content": "x"}, "ok")
    found = summarise(told.session(), WINDOW_NS)

    assert len(found.goal) == MAX_GOAL_CHARS and found.goal.endswith("…")
    assert (len(found.files), found.left_out) == (MAX_ITEMS, 3)


def test_nobody_typed_anything() -> None:
    """No goal is made up."""
    assert summarise(Told().run("ls", "a").session(), WINDOW_NS).goal == ""
