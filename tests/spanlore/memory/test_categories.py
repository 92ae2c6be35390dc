import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.memory.categories import Category, category_of
from spanlore.memory.memory import USER_SCOPE, Kind, Memory, Source, Status
from spanlore.memory.stated import remember


def learned(kind: Kind, text: str, value: str = "") -> Memory:
    return Memory("m-1", kind, Source.FAILURE_DELTA, Status.ACTIVE, "github.com/a/b", text, value=value)


@pytest.mark.parametrize(
    ("kind", "text", "category"),
    [
        (Kind.USAGE, "`rtk bun run test` failed with “no”; `bun run test` worked instead.", Category.CONVENTION),
        (Kind.USAGE, "`npm install` failed with “no”; `pnpm install` worked instead.", Category.DEPENDENCY),
        (Kind.ENVIRONMENT, "`python` failed with “x”; it passed after `pip install pytest -q`.", Category.DEPENDENCY),
        (Kind.ENVIRONMENT, "`go test` failed with “x”; it passed after `go mod tidy`.", Category.DEPENDENCY),
        (Kind.ENVIRONMENT, "`pytest` failed with “x”; it passed after `uv pip install -e .`.", Category.DEPENDENCY),
        (Kind.ENVIRONMENT, "`pytest` failed with “x”; it passed after `docker compose up -d`.", Category.LEARNING),
        (Kind.LOCATION, "`.golangci.yml` does not exist; `.golangci.yaml` does.", Category.FILE_PATTERN),
        (Kind.TRAP, "`make test` fails with “x” each time `a.py` is changed.", Category.BUGFIX),
        (Kind.DEAD_END, "`make test` failed 5 times with “x” and was not solved.", Category.BUGFIX),
        (Kind.HARNESS, "`Glob` failed with “x”; the same went through with `Bash`.", Category.LEARNING),
    ],
)
def test_what_was_learned_from_calls(kind: Kind, text: str, category: Category) -> None:
    """By kind; what installs something is about dependencies."""
    assert category_of(learned(kind, text)) is category


@pytest.mark.parametrize(
    ("words", "category"),
    [
        ("use pnpm instead of npm", Category.DEPENDENCY),
        ("pin numpy to 1.26", Category.DEPENDENCY),
        ("we add no third-party packages without asking", Category.DEPENDENCY),
        ("use make check instead of pytest", Category.CONVENTION),
        ("never push to main", Category.CONVENTION),
        ("invalid themes must NEVER explode", Category.CONVENTION),
        ("I prefer short commit messages", Category.PREFERENCE),
        ("please answer in German", Category.PREFERENCE),
        ("the extractor must not import the proxy", Category.ARCHITECTURE),
        ("The session file is append-only.", Category.ARCHITECTURE),
        ("entire backend lies elsewhere", Category.ARCHITECTURE),
        ("generated code lives in src/gen/", Category.FILE_PATTERN),
        ("do not stash, read the files you need", Category.CONVENTION),
        ("make surgical edits of changelog.md", Category.FILE_PATTERN),
        ("the crash at start was a race condition in the loader", Category.BUGFIX),
        ("for now the staging database is read-only", Category.TASK_CONTEXT),
        ("we're migrating to Vue 3", Category.TASK_CONTEXT),
        ("the trailer says Checkpoint", Category.LEARNING),
        ("temporary SSH keypairs are made anew", Category.LEARNING),
    ],
)
def test_what_a_person_said(words: str, category: Category) -> None:
    """By the words, the narrowest rule first."""
    memory = remember(words, "github.com/a/b", (), 10**18)[0].memory
    assert category_of(memory) is category


def test_what_has_an_end_is_about_the_task() -> None:
    """Whatever it says."""
    memory = remember("use pnpm instead of npm", "github.com/a/b", (), 1, until_ns=2)[0].memory
    assert category_of(memory) is Category.TASK_CONTEXT


def test_what_holds_everywhere_is_a_preference() -> None:
    """Unless its words say more."""
    said = {words: remember(words, USER_SCOPE, (), 10**18)[0].memory for words in ("never push", "npm install first")}
    assert [category_of(memory) for memory in said.values()] == [Category.PREFERENCE, Category.DEPENDENCY]


@given(st.sampled_from(Kind), st.text(max_size=300), st.text(max_size=50))
def test_every_memory_has_one(kind: Kind, text: str, value: str) -> None:
    """Whatever it says."""
    assert category_of(learned(kind, text, value)) in Category
