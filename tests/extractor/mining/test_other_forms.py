import pytest

from spanlore_extractor.mining.other_forms import by_test_target, other_form, with_options
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


def called_by_target(failing: str, output: str, other: str) -> bool:
    failure = next(
        step for step in Told().run(failing, output, 1).session().conversations[0].steps if isinstance(step, ToolStep)
    )
    return by_test_target(failure, take_apart(failing), take_apart(other), ()) is not None


@pytest.mark.parametrize(
    ("failing", "output", "target"),
    [
        ("python3 -m unittest discover -s tests", "ModuleNotFoundError: No module named 'tally'", "make check"),
        ("pytest -q", "E   KeyError: 'TALLY_CURRENCY'\n1 error during collection", "just test"),
        ("jest", "Cannot find module '@acme/config' from 'jest.setup.js'", "npm run test:unit"),
    ],
)
def test_tests_that_need_the_projects_target(failing: str, output: str, target: str) -> None:
    """Called by hand they do not load; the target sets what they need."""
    assert called_by_target(failing, output, target)


@pytest.mark.parametrize(
    ("failing", "output", "other"),
    [
        ("pytest -q", "E   AssertionError: 1 != 2\n1 failed", "make check"),
        ("pytest -q", "E   ImportError: x\n3 passed, 1 error", "make check"),
        ("pytest -q", "ModuleNotFoundError: No module named 'tally'", "make build"),
        ("python3 tool.py", "ModuleNotFoundError: No module named 'tally'", "make check"),
        ("pytest -q", "ModuleNotFoundError: No module named 'tally'", "cargo test"),
    ],
)
def test_tests_that_ran_need_no_target(failing: str, output: str, other: str) -> None:
    """Tests that fail tell of the code, and another target or program is for something else."""
    assert not called_by_target(failing, output, other)
