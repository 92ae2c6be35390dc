import pytest

from spanlore.spans.place import Outcome
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.summary import MAX_GOAL_CHARS, MAX_ITEMS, items_of, summarise
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
    assert found.suggested_next == "Shall I also push it?"
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


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("TodoWrite", {"todos": [{"content": "read it", "status": "completed"}, {"content": "x", "status": "pending"},
                                 {"content": "mend it", "status": "in_progress"}]}),
        ("update_plan", {"plan": [{"step": "read it", "status": "completed"}, {"step": "mend it"}]}),
        ("write_todos", {"todos": [{"description": "mend it", "status": "in_progress"}]}),
    ],
)  # fmt: skip
def test_what_was_left_to_do(name: str, arguments: dict[str, object]) -> None:
    """The agent's own list goes before its last question; a list that is done tells nothing."""
    told = Told().human("go").call(name, arguments, "ok").agent("Shall I go on?")
    finished = Told().human("go").call("TodoWrite", {"todos": [{"content": "a", "status": "completed"}]}, "ok")

    assert summarise(told.session(), WINDOW_NS).suggested_next == "mend it"
    assert summarise(finished.session(), WINDOW_NS).suggested_next == ""


def test_the_last_error_is_left_to_do() -> None:
    """Where nothing else tells."""
    told = Told().human("go").run("make check", "make: *** No rule", 2)
    assert summarise(told.session(), WINDOW_NS).suggested_next == "make: *** No rule"


def test_lists_that_were_cut_or_are_none() -> None:
    """Told as empty, never raised."""
    for arguments in ("{", "[]", '{"todos": 3}', '{"todos": [null, {"status": "pending"}]}', "null"):
        step = tool_step(arguments)
        assert [text for _, text in items_of(step) if text] == []


def tool_step(arguments: str) -> ToolStep:
    return ToolStep("1" * 32, "1" * 16, "t", "TodoWrite", 1, 2, Outcome.SUCCESS, arguments=arguments)
