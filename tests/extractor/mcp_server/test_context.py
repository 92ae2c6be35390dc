"""What is being done, branch by branch."""

from spanlore_extractor.mcp_server.context import MAX_BRANCHES, Contexts, key_of


def test_a_task_is_found_again() -> None:
    """Away and back: each branch keeps its own."""
    first, _ = Contexts().switched("main", 1, task="mend the build")
    second, carried = first.switched("topic", 2, task="add a page", here="main")
    back, _ = second.switched("main", 3, here="topic")

    assert (back.branch, back.task("main"), back.task("topic")) == ("main", "mend the build", "add a page")
    assert carried is False


def test_a_branch_without_one_takes_it_along() -> None:
    """Unless it is not to."""
    first, _ = Contexts().switched("main", 1, task="mend the build")
    along, carried = first.switched("topic", 2, here="main")
    alone, not_carried = first.switched("topic", 2, here="main", carry=False)

    assert (along.task("topic"), carried) == ("mend the build", True)
    assert (alone.task("topic"), not_carried) == ("", False)


def test_there_and_back_as_text() -> None:
    """What is written is read; what can't be read is nothing."""
    contexts, _ = Contexts().switched("main", 1, task="é")

    assert Contexts.from_json(contexts.to_json()) == contexts
    for text in (None, "", "[]", '{"tasks": {"x": 1}}', '{"tasks": []}', "no json"):
        assert Contexts.from_json(text) == Contexts()


def test_it_does_not_grow_for_ever() -> None:
    """The branches left longest ago go first."""
    contexts = Contexts()
    for number in range(MAX_BRANCHES + 5):
        contexts, _ = contexts.switched(f"b{number}", number, task="x")

    assert len(contexts.tasks) == MAX_BRANCHES
    assert contexts.task("b4") == ""
    assert contexts.task(f"b{MAX_BRANCHES + 4}") == "x"


def test_keys_are_plain_words() -> None:
    """One a repository, whatever is in its name."""
    assert key_of("github.com/o/a") != key_of("github.com/o/b")
    assert key_of("path:/a b/ü").replace("-", "").isalnum()
