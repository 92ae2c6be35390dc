import pytest

from spanlore_extractor.mining.other_forms import other_form, with_options
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import take_apart
from support.told import Told


@pytest.mark.parametrize(
    ("failing", "fix"),
    [
        ("kubectl get pods -n a", "kubectl --context kind get pods -n a"),
        ("pnpm test --filter web", "pnpm --filter web test"),
        ("npm run preview", "npm run preview -- --port 4174"),
    ],
)
def test_options_more_or_another_order(failing: str, fix: str) -> None:
    """All the words are still there."""
    assert with_options(take_apart(failing), take_apart(fix))


@pytest.mark.parametrize(
    ("failing", "other"),
    [
        ("git add a.py", "git add a.py b.py"),
        ("npm run lint", "npm run build"),
        ("go test ./a", "go test"),
        ("make a", "make a " + " ".join(f"--x{number}" for number in range(9))),
    ],
)
def test_other_words(failing: str, other: str) -> None:
    """Other files, targets or words fewer are no other form."""
    assert with_options(take_apart(failing), take_apart(other)) is None


@pytest.mark.parametrize(
    ("failing", "fix"),
    [
        ("python3 shop/cli.py --help", "python3 -m shop.cli --help"),
        ("npm ci", "pnpm install --frozen-lockfile"),
        ("npm run test", "bun test"),
        ("git checkout main", "git checkout -b fix origin/main"),
    ],
)
def test_the_same_in_another_form(failing: str, fix: str) -> None:
    """A module, another package manager, the same target told otherwise."""
    assert other_form(take_apart(failing), take_apart(fix), ())


@pytest.mark.parametrize(
    ("failing", "other"),
    [
        ("python3 shop/cli.py", "python3 -m pytest"),
        ("npm ci", "pnpm run build"),
        ("npm install left-pad", "pnpm install right-pad"),
        ("git checkout feature-a", "git checkout main"),
        ("make test", "cargo test"),
    ],
)
def test_another_thing(failing: str, other: str) -> None:
    """Nothing says that it is about the same."""
    assert other_form(take_apart(failing), take_apart(other), ()) is None


def test_only_at_once() -> None:
    """With other work in between, the same target told otherwise may be for another purpose."""
    between = [step for step in Told().run("ls").session().conversations[0].steps if isinstance(step, ToolStep)]

    assert other_form(take_apart("git checkout main"), take_apart("git checkout -b fix origin/main"), between) is None


@pytest.mark.parametrize(
    ("failing", "fix"),
    [
        ("docker ps", "sudo docker ps"),
        ("./tools/seed.sh --all", "bash tools/seed.sh --all"),
        ("cat docs/My Notes.md", 'cat "docs/My Notes.md"'),
    ],
)
def test_wrapped_or_quoted(failing: str, fix: str) -> None:
    """Given to another program, or held together by quotes."""
    assert other_form(take_apart(failing), take_apart(fix), ())
