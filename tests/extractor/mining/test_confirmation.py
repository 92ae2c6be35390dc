import pytest

from spanlore.spans.place import Channel
from spanlore_extractor.mining.confirmation import confirmed_by, find_confirmations
from support.told import Told


def reasons(told: Told) -> tuple[list[str], list[str]]:
    """(what confirmed, why the rest did not)."""
    found, none = find_confirmations(told.session().conversations[0])
    return [item.reason for item in found], [item.reason for item in none]


@pytest.mark.parametrize(
    "words",
    ["lgtm", "ok, ship it", "looks good", "perfect!", "great, merge it", "ok now it works", "that's it", "approved",
    "beautiful, commit it", "everything works now"],
)  # fmt: skip
def test_words_that_confirm(words: str) -> None:
    """Short praise after work."""
    found, none = reasons(Told().run("make", "ok").human(words))

    assert (len(found), none) == (1, []), words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("looks good, but rename it", "takes it back in the same breath, or asks"),
        ("looks good?", "takes it back in the same breath, or asks"),
        ("perfect if you drop the flag", "takes it back in the same breath, or asks"),
        ("great " + "word " * 20, "says more than that it is good"),
    ],
)
def test_words_that_only_look_so(words: str, reason: str) -> None:
    """Each is told with its reason."""
    assert reasons(Told().run("make", "ok").human(words)) == ([], [reason])


@pytest.mark.parametrize("words", ["commit and push", "now the other file", "is it great", "the greatest of them"])
def test_other_words_are_nothing(words: str) -> None:
    """Neither found nor looked at."""
    assert reasons(Told().run("make", "ok").human(words)) == ([], [])


def test_nothing_is_confirmed_before_it_was_done() -> None:
    """Praise at the beginning is for something else; a refusal's reason never confirms."""
    assert reasons(Told().human("looks good"))[1] == ["the agent has not done anything yet"]
    assert reasons(Told().run("make", "ok").human("looks good", Channel.REJECTION_REASON)) == ([], [])


@pytest.mark.parametrize(
    ("command", "code", "confirms"),
    [
        ("git push origin main", 0, True),
        ("gh pr merge 12 --squash", 0, True),
        ("git merge main", 0, True),
        ("git push", 1, False),
        ("git push --dry-run", 0, False),
        ("git merge --abort", 0, False),
    ],
)
def test_work_that_was_handed_over(command: str, code: int, confirms: bool) -> None:
    """A push or merge that succeeded; one that failed, or only looked, says why it does not count."""
    found, none = reasons(Told().run(command, "done", code))

    assert (len(found), len(none)) == (int(confirms), int(not confirms))


def test_a_commit_is_no_confirmation() -> None:
    """The agent commits what it likes."""
    assert reasons(Told().run("git commit -m x", "ok")) == ([], [])


def test_only_what_came_before_is_confirmed() -> None:
    """A later lesson is not."""
    told = Told().run("make", "ok").human("lgtm")
    found, _ = find_confirmations(told.session().conversations[0])

    assert confirmed_by(found[0].step.time_ns - 1, found) is found[0]  # type: ignore[union-attr]
    assert confirmed_by(found[0].step.time_ns + 1, found) is None  # type: ignore[union-attr]
